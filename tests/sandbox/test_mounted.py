"""Mounts inside a folder, read from the kernel's table."""

from pathlib import Path

from rerail.sandbox.mounted import mounted_inside

TABLE = rb"""44 43 254:0 / / rw,relatime - ext4 /dev/vda rw
67 44 254:0 / /tmp rw - tmpfs tmpfs rw
68 67 254:0 / /tmp/of\040a\040user rw - fuse fuse rw
69 44 254:0 / /tmpfiles/x rw - fuse fuse rw
"""


def test_folders_with_a_mount_below_them(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_bytes(TABLE)
    found = mounted_inside([Path("/tmp"), Path("/var/tmp"), Path("/tmp/of a user")], table)
    assert found == {Path("/tmp"): Path("/tmp/of a user")}


def test_where_there_is_no_table_nothing_is_known(tmp_path: Path) -> None:
    assert mounted_inside([Path("/")], tmp_path / "none") == {}
