"""Which addresses of the network are somebody else's public ones. Everything near home is not: nobody is sent there.

Pure: names are not looked up here, and an address is judged in whatever clothes it comes.
"""

import ipaddress
import re
import unicodedata
from urllib.parse import SplitResult, urlsplit

from core.errors import Refused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
PORTS = {"http": 80, "https": 443}
# Ports of services that speak no HTTP and would take a request for a command.
_OTHER_SERVICES = frozenset(
    {1, 7, 9, 19, 21, 22, 23, 25, 53, 110, 119, 139, 143, 389, 445, 465, 587, 993, 995, 6379}
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_SITE_LOCAL = ipaddress.IPv6Network("fec0::/10")
_RELAY = ipaddress.IPv4Network("192.88.99.0/24")
_LAST_LABEL = re.compile(r"\d+|0[xX][0-9a-fA-F]*")
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa", "onion")


def public(address: Address) -> bool:
    """The address belongs to the public internet, and so does any other that is packed inside of it."""
    if isinstance(address, ipaddress.IPv4Address):
        return (
            address.is_global
            and not address.is_multicast
            and not address.is_reserved
            and address not in _RELAY
        )
    inner = _packed(address)
    if inner is not None:
        return public(inner)
    if address in _LOCAL_NAT64 or address in _SITE_LOCAL or address in _COMPATIBLE or address.teredo:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.scope_id


def _packed(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour


def target(url: str) -> SplitResult:
    """A web address that may be asked about, cleaned; whether its host is public is known when it is looked up."""
    text = url.strip()
    if any(ord(one) < 33 or ord(one) == 127 or one == "\\" for one in text) or len(text) > 4000:
        raise Refused("The address has blanks or control signs in it.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise Refused(f"This is no web address: {error}.") from error
    if parts.scheme not in PORTS:
        raise Refused("Only http and https addresses can be fetched.")
    if parts.username is not None or parts.password is not None:
        raise Refused("The address carries a name or a password; it is not fetched.")
    host = plain_host(parts.hostname or "")
    if port is not None and (port in _OTHER_SERVICES or port == 0):
        raise Refused(f"Port {port} is not one of the web.")
    shown = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=shown if port is None else f"{shown}:{port}", fragment="")


def plain_host(host: str) -> str:
    """A host in one form; numbers in disguise and names that only mean something at home are refused."""
    host = unicodedata.normalize("NFKC", host).lower().rstrip(".")
    if not host:
        raise Refused("The address has no host.")
    if ":" in host:
        try:
            return str(ipaddress.IPv6Address(host))
        except ValueError:
            raise Refused(f"{host} is no address.") from None
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise Refused("The host's name cannot be written for the network.") from None
    if not re.fullmatch(r"[a-z0-9._-]{1,253}", host):
        raise Refused("The host's name has signs that names do not have.")
    last = host.rpartition(".")[2]
    if _LAST_LABEL.fullmatch(last):
        # 2130706433, 0x7f.1, 127.1, 0177.0.0.1: some library takes them all for an address.
        if not re.fullmatch(r"(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}", host):
            raise Refused(f"{host} is a number in disguise, not the name of a host.")
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise Refused(f"{host} is no address.") from None
    if "." not in host or any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES):
        raise Refused(f"{host} is a name of this computer or its network; it is not fetched.")
    return host
