"""Sentinels: the epoch in one is what YAML says it is, however it is looked up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.kinds.fleet import FleetSpec
from gitplacer.render import sentinel
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.units import _AS_WRITTEN, epoch_in, epoch_read

NAMES = st.sampled_from(["a", "cluster-0", "1e3", "null", "on", "0x1f", "y", "x" * 63])


@given(name=NAMES, system=NAMES, unit=st.sampled_from([PLATFORM, WORKLOADS]), epoch=st.integers(0, 10**16))
def test_the_epoch_is_read_of_what_is_as_we_write_it(name: str, system: str, unit: str, epoch: int) -> None:
    written = sentinel(FleetSpec.model_construct(system_namespace=system), name, unit, epoch)
    assert epoch_in(written) == epoch_read(written) == (epoch if epoch < 10**15 else 0)
    assert (_AS_WRITTEN.fullmatch(written) is not None) == (epoch < 10**15)


@given(st.data())
def test_what_somebody_changed_is_read_as_yaml_has_it(data: st.DataObject) -> None:
    written = sentinel(FleetSpec(), "cluster-0", WORKLOADS, 7)
    at = data.draw(st.integers(0, len(written)))
    to = data.draw(st.integers(at, min(len(written), at + 3)))
    new = data.draw(
        st.sampled_from([b"", b"\n", b"\r", b": ", b"#", b'"', b"'", b"[", b"-", b"9", b"a", b"\xff", b"&x ", b"..."])
    )
    changed = written[:at] + new + written[to:]
    assert epoch_in(changed) == epoch_read(changed)


@pytest.mark.parametrize("wrong", [b"", b"epoch: 3", b"data: {epoch: x}\n", b"data: [\n", b'data: {epoch: "0x3"}\n'])
def test_one_that_tells_no_epoch_has_none(wrong: bytes) -> None:
    assert epoch_in(wrong) == 0
