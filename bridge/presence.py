"""Whether the chosen phone is there. Another phone on the cable is never a stand-in for it."""

import asyncio
import ipaddress
import re
import time

from bridge.adb import Adb, Device
from bridge.faults import for_state
from core.errors import PhoneUnreachable

SETTLING = ("authorizing", "connecting")
SETTLE_S = 4.0
POLL_S = 0.25


async def present(adb: Adb, serial: str, *, connect_s: float = 8) -> Device:
    """The phone with that serial, ready for use, or the reason why not."""
    devices = await adb.devices()
    if not serial:
        attached = ", ".join(device.serial for device in devices) or "none"
        raise PhoneUnreachable("not_configured", f"No phone is chosen. Attached now: {attached}.")
    device = _pick(devices, serial)
    if is_address(serial) and (device is None or device.state == "offline"):
        devices = await _reconnected(adb, serial, devices, connect_s)
        device = _pick(devices, serial)
    if device is None:
        others = ", ".join(other.serial for other in devices)
        if others:
            raise PhoneUnreachable(
                "other_phone",
                f"The chosen phone {serial} is not connected. Attached, and not used: {others}.",
            )
        raise PhoneUnreachable("absent", f"The chosen phone {serial} is not connected.")
    if error := for_state(device.state, serial):
        raise error
    return device


def is_address(serial: str) -> bool:
    """Whether the serial is a `host:port` of the network; emulators and mDNS names are not."""
    return re.fullmatch(r"[\w.\-]+:\d{1,5}|\[[0-9a-fA-F:.%\w]+\]:\d{1,5}", serial) is not None


def is_remote(serial: str) -> bool:
    """Whether the phone is reached over the air, where everything takes longer and stalls now and then."""
    if "._adb-tls-connect._tcp" in serial:
        return True
    host = serial.rpartition(":")[0].strip("[]")
    try:
        return is_address(serial) and not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


async def _reconnected(adb: Adb, address: str, before: list[Device], connect_s: float) -> list[Device]:
    """The list after a new attempt: a dropped phone stays listed as offline until it is forgotten.

    A server that has not noticed the break yet says that it is connected, and drops the phone afterwards: then it is
    asked again.
    """
    if _pick(before, address):
        await adb.disconnect(address)
    ends_at = time.monotonic() + SETTLE_S
    listed = False
    while True:
        if not listed:
            try:
                await adb.connect(address, timeout_s=connect_s)
            except PhoneUnreachable as error:
                if error.state not in ("absent", "timeout"):
                    raise
                return await adb.devices()
        devices = await adb.devices()
        device = _pick(devices, address)
        listed = device is not None
        settled = device is not None and device.state not in (*SETTLING, "offline")
        if settled or time.monotonic() > ends_at:
            return devices
        await asyncio.sleep(POLL_S)


def _pick(devices: list[Device], serial: str) -> Device | None:
    return next((device for device in devices if device.serial == serial), None)
