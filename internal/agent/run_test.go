package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// act is a tool made of a function, which counts its calls.
type act struct {
	name  string
	calls int
	do    func(ctx context.Context, in Input, emit func(Update)) (Result, error)
}

func (a *act) Name() string { return a.name }

func (a *act) Call(ctx context.Context, input json.RawMessage, emit func(Update)) (Result, error) {
	a.calls++
	var in Input
	if err := json.Unmarshal(input, &in); err != nil {
		return Result{}, err
	}
	if a.do == nil {
		return Result{Output: json.RawMessage(`{"by":"` + a.name + `"}`), Summary: a.name + " is done."}, nil
	}
	return a.do(ctx, in, emit)
}

// diary is a journal in memory, which writes down the order of things.
type diary struct {
	lines []string
	ends  map[int]Done
}

func (d *diary) journal() Journal {
	if d.ends == nil {
		d.ends = map[int]Done{}
	}
	return Journal{
		Finished: func(context.Context) ([]Done, error) {
			var list []Done
			for _, done := range d.ends {
				list = append(list, done)
			}
			return list, nil
		},
		Begin: func(_ context.Context, s Step) error {
			d.lines = append(d.lines, "begin "+s.Tool)
			return nil
		},
		End: func(ctx context.Context, done Done) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			d.lines = append(d.lines, "end "+done.Tool+" "+string(done.Status))
			d.ends[done.Seq] = done
			return nil
		},
	}
}

func threeTools() (probe, scan, verify *act) {
	return &act{name: Probe}, &act{name: Scan}, &act{name: Verify}
}

func somePlan() Plan {
	return Plan{Targets: []Target{{Raw: "a.example", Kind: KindHost, Host: "a.example"}}, Tags: []string{"vcs"}}
}

func statuses(steps []Done) string {
	var list []string
	for _, d := range steps {
		list = append(list, string(d.Status))
	}
	return strings.Join(list, " ")
}

func TestRunInOrder(t *testing.T) {
	probe, scan, verify := threeTools()
	var seen []Update
	var before map[string]json.RawMessage
	verify.do = func(_ context.Context, in Input, emit func(Update)) (Result, error) {
		before = in.Before
		emit(Update{Text: "half", Done: 1, Total: 2})
		return Result{Summary: "Two findings."}, nil
	}
	var d diary
	out, err := Run(t.Context(), Config{Tools: []Tool{verify, scan, &act{name: Explore}, probe}, Journal: d.journal(),
		Emit: func(u Update) { seen = append(seen, u) }}, somePlan())
	if err != nil || out.Status != Completed || statuses(out.Steps) != "completed completed completed completed" {
		t.Fatalf("%+v, %v", out, err)
	}
	want := "begin probe,end probe completed,begin explore,end explore completed,begin scan,end scan completed,begin verify,end verify completed"
	if got := strings.Join(d.lines, ","); got != want {
		t.Errorf("journal: %s\nwant:    %s", got, want)
	}
	if string(before[Probe]) != `{"by":"probe"}` || string(before[Scan]) != `{"by":"scan"}` || len(before) != 3 {
		t.Errorf("verify was given %s", before)
	}
	if want := []Update{{Seq: 4, Tool: Verify, Text: "half", Done: 1, Total: 2}}; !slices.Equal(seen, want) {
		t.Errorf("updates %v, want %v", seen, want)
	}
}

func TestFailureDoesNotStopTheRest(t *testing.T) {
	for name, do := range map[string]func(context.Context, Input, func(Update)) (Result, error){
		"error": func(context.Context, Input, func(Update)) (Result, error) {
			return Result{Output: json.RawMessage(`1`)}, errors.New("no route")
		},
		"panic": func(context.Context, Input, func(Update)) (Result, error) { panic("no route") },
	} {
		t.Run(name, func(t *testing.T) {
			probe, scan, verify := threeTools()
			scan.do = do
			var d diary
			out, err := Run(t.Context(), Config{Tools: []Tool{probe, &act{name: Explore}, scan, verify}, Journal: d.journal()},
				somePlan())
			if err != nil || out.Status != Completed || statuses(out.Steps) != "completed completed failed completed" {
				t.Fatalf("%+v, %v", out, err)
			}
			if !strings.Contains(d.ends[3].Error, "no route") {
				t.Errorf("the journal says %q", d.ends[3].Error)
			}
		})
	}
}

// TestOutageIsNoResult: a process without descriptors knows nothing of the targets, and what it began is done again.
func TestOutageIsNoResult(t *testing.T) {
	probe, scan, verify := threeTools()
	out := true
	scan.do = func(context.Context, Input, func(Update)) (Result, error) {
		if out {
			return Result{}, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}
		return Result{Output: json.RawMessage(`1`)}, nil
	}
	var d diary
	cfg := Config{Tools: []Tool{probe, &act{name: Explore}, scan, verify}, Journal: d.journal()}
	if _, err := Run(t.Context(), cfg, somePlan()); outage.Of(err) == nil || len(d.ends) != 2 || verify.calls != 0 {
		t.Fatalf("%v, and %+v", err, d.ends)
	}
	out = false
	done, err := Run(t.Context(), cfg, somePlan())
	if err != nil || statuses(done.Steps) != "completed completed completed completed" || scan.calls != 2 ||
		probe.calls != 1 {
		t.Errorf("%+v, %v: %d scans, %d probes", done, err, scan.calls, probe.calls)
	}
}

func TestStopKeepsWhatThereIsAndRestartGoesOn(t *testing.T) {
	probe, scan, verify := threeTools()
	ctx, cancel := context.WithCancel(t.Context())
	scan.do = func(ctx context.Context, _ Input, _ func(Update)) (Result, error) {
		cancel()
		<-ctx.Done()
		return Result{Output: json.RawMessage(`{"half":true}`)}, ctx.Err()
	}
	var d diary
	cfg := Config{Tools: []Tool{probe, &act{name: Explore}, scan, verify}, Journal: d.journal()}
	out, err := Run(ctx, cfg, somePlan())
	if err != nil || out.Status != Aborted || statuses(out.Steps) != "completed completed aborted" {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := string(d.ends[3].Output); got != `{"half":true}` {
		t.Errorf("kept %q", got)
	}

	scan.do = nil
	out, err = Run(t.Context(), cfg, somePlan())
	if err != nil || out.Status != Completed || statuses(out.Steps) != "completed completed completed completed" {
		t.Fatalf("after the restart: %+v, %v", out, err)
	}
	if probe.calls != 1 || scan.calls != 2 || verify.calls != 1 {
		t.Errorf("calls: probe %d, scan %d, verify %d; want 1, 2, 1", probe.calls, scan.calls, verify.calls)
	}
	if out, err = Run(t.Context(), cfg, somePlan()); err != nil || out.Status != Completed ||
		probe.calls+scan.calls+verify.calls != 4 {
		t.Errorf("a finished run was run again: %+v, %v", out, err)
	}
}

func TestTimeLimitLeavesTimeToVerify(t *testing.T) { synctest.Test(t, timeLimitLeavesTimeToVerify) }

func timeLimitLeavesTimeToVerify(t *testing.T) {
	probe, scan, verify := threeTools()
	now := time.Unix(0, 0)
	scan.do = func(ctx context.Context, _ Input, _ func(Update)) (Result, error) {
		deadline, _ := ctx.Deadline()
		if left := time.Until(deadline); left > 80*time.Millisecond {
			t.Errorf("scan may take %v of 100 ms", left)
		}
		<-ctx.Done()
		now = now.Add(80 * time.Millisecond)
		return Result{Output: json.RawMessage(`{}`)}, ctx.Err()
	}
	var d diary
	cfg := Config{Tools: []Tool{probe, &act{name: Explore}, scan, verify}, Journal: d.journal(),
		Budget: 100 * time.Millisecond, Now: func() time.Time { return now }}
	out, err := Run(t.Context(), cfg, somePlan())
	if err != nil || out.Status != Timeout || statuses(out.Steps) != "completed completed timeout completed" {
		t.Fatalf("%+v, %v", out, err)
	}

	d = diary{}
	probe.do = func(context.Context, Input, func(Update)) (Result, error) {
		now = now.Add(time.Second)
		return Result{}, nil
	}
	cfg.Journal = d.journal()
	out, err = Run(t.Context(), cfg, somePlan())
	if err != nil || out.Status != Timeout || statuses(out.Steps) != "completed skipped skipped skipped" {
		t.Fatalf("%+v, %v", out, err)
	}
}

func TestRunRefuses(t *testing.T) {
	probe, scan, verify := threeTools()
	var d diary
	if _, err := Run(t.Context(), Config{Tools: []Tool{probe, &act{name: Explore}, scan}, Journal: d.journal()},
		somePlan()); err == nil {
		t.Error("a plan ran without one of its tools")
	}
	full := errors.New("disk full")
	journal := d.journal()
	journal.Begin = func(context.Context, Step) error { return full }
	if _, err := Run(t.Context(), Config{Tools: []Tool{probe, &act{name: Explore}, scan, verify}, Journal: journal},
		somePlan()); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if probe.calls+scan.calls+verify.calls != 0 {
		t.Error("a tool was called whose intent could not be recorded")
	}
	out, err := Run(t.Context(), Config{Journal: d.journal()}, Plan{})
	if err != nil || out.Status != Completed || len(out.Steps) != 0 {
		t.Errorf("an empty plan: %+v, %v", out, err)
	}
}
