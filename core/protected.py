"""Where secrets live: the folders and file names that never leave the house, whatever a setting says.

Pure: it looks at the letters of a path and never at the disk, so it is asked twice, about the path as it was
given and about where it really leads.
"""

import unicodedata
from fnmatch import fnmatchcase
from pathlib import Path

FOLDERS = tuple(
    tuple(folder.split("/"))
    for folder in (
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".oci",
        ".pki",
        ".password-store",
        ".terraform.d",
        ".mozilla",
        ".thunderbird",
        ".config/gcloud",
        ".config/gh",
        ".config/hub",
        ".config/op",
        ".config/doctl",
        ".config/rclone",
        ".config/sops",
        ".config/bitwarden",
        ".config/keepassxc",
        ".config/1password",
        ".config/signal",
        ".config/google-chrome",
        ".config/google-chrome-beta",
        ".config/chromium",
        ".config/bravesoftware",
        ".config/microsoft-edge",
        ".config/vivaldi",
        ".config/opera",
        ".local/share/keyrings",
        ".local/share/kwalletd",
        ".local/share/telegramdesktop",
        "snap/firefox",
        "snap/chromium",
        ".var/app/org.mozilla.firefox",
        ".var/app/com.google.chrome",
        ".var/app/org.chromium.chromium",
        ".var/app/com.brave.browser",
        "library/keychains",
        "library/cookies",
        "library/application support/google/chrome",
        "library/application support/firefox",
        "appdata/roaming/mozilla",
        "appdata/local/google/chrome",
        "appdata/local/microsoft/credentials",
        "appdata/roaming/microsoft/credentials",
    )
)

FILES = (
    *(".env*", "*.env", "id_*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.gpg"),
    *("*.kdb", "*.kdbx", "*.agekey", "*.ovpn", "*.wallet", "wallet.dat", "*.token", "*token*.json"),
    *("*secret*.json", "*credential*", "*service*account*.json", "auth.json", "*.tfstate", "*.tfvars"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".pgpass", ".my.cnf"),
    *("cookies", "cookies.sqlite*", "key3.db", "key4.db", "logins.json", "login data*", "web data*"),
    *("shadow", "shadow-", "gshadow", "passwd", "sudoers", "authorized_keys", "known_hosts", "kubeconfig"),
    *(".*_history", "owner.token", "vault.key", "apx.db*"),
)

SYSTEM = ("/proc", "/dev", "/sys")


def folded(name: str) -> str:
    """A name as a careless file system compares it: no case, no look-alike letters."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def secret_name(name: str) -> bool:
    """The file is called like something that holds a secret."""
    return any(fnmatchcase(folded(name), pattern) for pattern in FILES)


def secret_folder(path: Path) -> bool:
    """The path leads through a folder of keys, passwords, cloud logins or browser profiles."""
    parts = tuple(folded(part) for part in path.parts)
    if any(parts[n : n + len(want)] == want for want in FOLDERS for n in range(len(parts))):
        return True
    # Another agent's home, or ours when APX_HOME points elsewhere.
    return any(part == ".apx" and parts[n + 1 : n + 2] != ("media",) for n, part in enumerate(parts[:-1]))


def inside(path: Path, folder: Path) -> bool:
    """`path` is `folder` or below it."""
    return path == folder or folder in path.parents


def system_file(path: Path) -> bool:
    """The path belongs to the kernel: reading it is not reading a file."""
    return any(inside(path, Path(root)) for root in SYSTEM)
