package main

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"
)

func run(t *testing.T, events string) (string, bool) {
	t.Helper()
	var out strings.Builder
	failed, err := report(bufio.NewReader(strings.NewReader(events)), &out)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`total time \S+`).ReplaceAllString(out.String(), "total time TIME"), failed
}

// The golden was read once with care; the events are those of a real run of go test
// over a package with one test of each ending, one that does not build, and one without tests.
func TestReportOfARealRun(t *testing.T) {
	events, err := os.ReadFile("testdata/run.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/run.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, failed := run(t, string(events))
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if !failed {
		t.Error("a run with failures was called good")
	}
}

func TestReportOfAGoodRun(t *testing.T) {
	got, failed := run(t, `{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (3.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":3}
{"Action":"output","Package":"p","Output":"ok  \tp\t3.100s\n"}
{"Action":"pass","Package":"p","Elapsed":3.1}
`)
	want := "--- PASS: TestA (3.00s)\nok  \tp\t3.100s\n\nslowest tests:\n     3.0s p TestA\n\ntotal time TIME\n1 passed, 0 failed, 0 skipped\n"
	if got != want || failed {
		t.Errorf("failed %v, got:\n%s\nwant:\n%s", failed, got, want)
	}
}

func TestLinesThatAreNoEventsAreShown(t *testing.T) {
	got, _ := run(t, "go: cannot find main module\n")
	if !strings.HasPrefix(got, "go: cannot find main module\n") {
		t.Errorf("got %q", got)
	}
}

// Of a test with many subtests, only those that failed or never ended are printed.
func TestOnlyFailedSubtestsArePrinted(t *testing.T) {
	got, _ := run(t, `{"Action":"output","Package":"p","Test":"TestA/good","Output":"    good talks\n"}
{"Action":"output","Package":"p","Test":"TestA/bad","Output":"    bad talks\n"}
{"Action":"output","Package":"p","Test":"TestA/good","Output":"--- PASS: TestA/good (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA/good"}
{"Action":"output","Package":"p","Test":"TestA/bad","Output":"--- FAIL: TestA/bad (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA/bad"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB/stuck","Output":"    stuck talks\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t9.000s\n"}
{"Action":"fail","Package":"p"}
`)
	want := "    bad talks\n--- FAIL: TestA/bad (0.00s)\n--- FAIL: TestA (0.00s)\n    stuck talks\npanic: test timed out\nFAIL\tp\t9.000s\n"
	if !strings.HasPrefix(got, want+"\ntotal time") {
		t.Errorf("got:\n%s\nwant it to start with:\n%s", got, want)
	}
}

// What the race detector says is printed, also when it comes as the output of a test that passes.
func TestRacesAreShown(t *testing.T) {
	got, _ := run(t, `{"Action":"output","Package":"p","Test":"TestA","Output":"==================\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"WARNING: DATA RACE\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"Write at 0x01 by goroutine 7:\n"}
{"Action":"output","Package":"q","Test":"TestC","Output":"quiet\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"==================\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0}
`)
	if !strings.HasPrefix(got, "p, beside TestA:\nWARNING: DATA RACE\nWrite at 0x01 by goroutine 7:\n") || strings.Contains(got, "quiet") {
		t.Errorf("got %q", got)
	}
}
