#!/usr/bin/env bats
# The rules of lesson 09: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "two phases of six frames, each of which calls the library" { rule frames; }
@test "each frame takes its two buffers from a pool, and frees them with cudaFreeAsync" {
    rule replaced
}
@test "load makes the input and work the result, in two streams, each in its own buffer" {
    rule streams
}
@test "work begins with a frame's input after load has made it" { rule work; }
@test "the host reads the answer, and load begins the next frame, after the work" { rule answer; }
@test "the host waits once in a frame, for one stream" { rule waits; }
@test "the pool keeps its memory from frame to frame" { rule threshold; }
@test "each frame writes its numbers, whatever the memory held before" { rule numbers; }
@test "the frames have a pool of their own, which never holds more than limit" { rule limit; }
@test "the library allocates from the default pool, which keeps the threshold of its manual" {
    rule library
}
@test "at the end of each phase the pool returns all its memory" { rule trim; }
@test "it prints what a real device prints, under every schedule" { rule output; }
