"""Clinic, case 5: a staging buffer is written again only after its copy."""

from check import expect_narrow_wait, met_by_starter, miss

BYTES = 4096  # of a description


def test_twelve(check):
    check.ends_well(12)
    copies = check.run(12).journal.copies
    sent = sum(x["bytes"] for x in copies if x.get("kind") != "DeviceToHost")
    if sent < 12 * BYTES:
        miss(f"""twelve descriptions of {BYTES} bytes are copied to the device.
            Happened: {sent} bytes were.""")
    numbers = " ".join(str(number) for number in range(1, 13))
    check.prints_line(
        rf".*\D{numbers}\D+{numbers}",
        "twelve columns described, and the same twelve found on the device",
        12,
    )


@met_by_starter
def test_one_stream(check):
    expect_narrow_wait(
        check.run().journal,
        """the host waits until the copy has read the staging buffer: for one stream, or for an
        event.""",
    )


def test_called(check):
    check.after()
    check.expect_called("cudaStreamSynchronize", "cudaEventSynchronize")
