package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-sec/vedette/oracle/event"
	"github.com/vedette-sec/vedette/oracle/lab"
)

// crowd compares the two commands, each with all templates at once on one server, where
// requests are shared between templates.
func crowd(ctx context.Context, flags *flag.FlagSet, args []string) error {
	rounds := flags.Int("rounds", 3, "runs with other answers")
	threshold := flags.Float64("threshold", 99.5, "percentage of templates that must agree in every round")
	var c common
	if err := c.parse(flags, args); err != nil {
		return err
	}
	root := c.root
	paths, err := find(root, []string{""})
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "oracle-crowd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var templates []*lab.Template
	var trials []*trial
	byID := map[string]*trial{}
	for _, path := range paths {
		t, err := lab.Read(path)
		if err != nil || len(t.Input()) > 0 || t.Tagged("fuzz") || t.Tagged("bruteforce") || byID[t.ID] != nil {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		if err := write(filepath.Join(scratch, name), text); err != nil {
			return err
		}
		templates = append(templates, t)
		byID[t.ID] = &trial{Template: name, text: string(text)}
		trials = append(trials, byID[t.ID])
	}
	if err := os.CopyFS(filepath.Join(scratch, "helpers"), os.DirFS(filepath.Join(root, "helpers"))); err != nil {
		return err
	}
	for round := range *rounds {
		if err := oneRound(ctx, lab.NewCrowd(templates, round), round, scratch, c.vedette, c.nuclei, byID); err != nil {
			return err
		}
	}
	if got := printReport(os.Stdout, trials, true); got < *threshold {
		return fmt.Errorf("%.2f %% of the templates agree; wanted are %.2f %%", got, *threshold)
	}
	return nil
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func oneRound(
	ctx context.Context, c *lab.Crowd, round int, folder, vedette, nuclei string, byID map[string]*trial,
) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	go c.Serve(listener)
	target := "http://" + listener.Addr().String() + "/"
	theirs, err := events(ctx, nuclei, "-duc", "-ni", "-jsonl", "-silent", "-nmhe", "-rl", "100000", "-c", "4", "-bs", "2",
		"-pc", "1",
		"-timeout", "10", "-retries", "1", "-t", folder, "-u", target)
	if err != nil {
		return err
	}
	c.Reset()
	ours, err := events(ctx, vedette, "scan", "--jsonl", "--silent", "--rate-limit", "0", "-t", folder, "-u", target)
	if err != nil {
		return err
	}
	for id, t := range byID {
		s := &site{Kind: lab.Kind(fmt.Sprintf("round %d", round)), Target: target, Theirs: theirs[id].Minus(nil),
			Ours: ours[id].Minus(nil)}
		s.Cause = cause(t.text, event.SetOf(s.Theirs), event.SetOf(s.Ours), "")
		t.Sites = append(t.Sites, s)
	}
	return nil
}

func events(ctx context.Context, binary string, args ...string) (map[string]event.Set, error) {
	all, stderr, _, err := execute(ctx, binary, args...)
	fmt.Fprint(os.Stderr, stderr)
	found := map[string]event.Set{}
	for _, e := range all {
		if found[e.Template] == nil {
			found[e.Template] = event.Set{}
		}
		found[e.Template].Add(e)
	}
	return found, err
}
