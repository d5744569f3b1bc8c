"""Clinic, case 5: a staging buffer is written again only after its copy."""

from check import expect_narrow_wait, line_of, met_by_starter, miss

BYTES = 4096  # of a description


def test_many(check):
    columns = check.draw("columns", 40, 90)
    check.ends_well(columns)
    copies = check.run(columns).journal.copies.that(lambda x: x.get("kind") != "DeviceToHost")
    sent = sum(copies.column("bytes"))
    if sent < columns * BYTES:
        miss(f"""{columns} descriptions of {BYTES} bytes are copied to the device.
            Happened: {sent} bytes were.""")
    if pageable := copies.where(host_allocation=None).first:
        miss(f"""the staging buffer stays page-locked: the faster copies were the reason for it.
            Happened: {pageable["call"]}{line_of(pageable)} copies from ordinary memory.""")
    numbers = " ".join(str(number) for number in range(1, columns + 1))
    check.prints_line(
        rf".*\D{numbers}\D+{numbers}",
        f"{columns} columns described, and the same {columns} found on the device",
        columns,
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
