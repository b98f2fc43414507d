package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/oracle/event"
	"github.com/vedette-sec/vedette/oracle/lab"
	"github.com/vedette-sec/vedette/oracle/original"
)

// patience is the time limit for one template on one site.
const patience = time.Minute

type trial struct {
	Template string  `json:"template"`          // path below the folder
	Refused  string  `json:"refused,omitempty"` // why the template was not tried
	Sites    []*site `json:"sites,omitempty"`
	Seconds  float64 `json:"seconds"` // duration of the trial

	text string
}

// site has the results of both programs on one site.
type site struct {
	Kind   lab.Kind      `json:"kind"`
	Target string        `json:"target"`
	Solved bool          `json:"solved"` // the lab expects the matchers to match
	Theirs []event.Event `json:"nuclei"`
	Ours   []event.Event `json:"vedette"`
	Errors []string      `json:"errors,omitempty"`
	Cause  string        `json:"cause,omitempty"`  // of a disagreement; empty: they agree
	Varies bool          `json:"varies,omitempty"` // nuclei's results differed between runs

	TheirRequests []string `json:"nuclei-requests,omitempty"` // of a disagreement
	OurRequests   []string `json:"vedette-requests,omitempty"`

	server   *lab.Site
	listener net.Listener
}

// agreement is the command that compares findings, template by template.
type agreement struct {
	common   // without vedette, nuclei runs alone; without nuclei, only in this process
	engine   *original.Engine
	parallel int
}

func agree(ctx context.Context, flags *flag.FlagSet, args []string) error {
	only := flags.String("only", "", "only templates whose path contains one of these, separated by commas")
	report := flags.String("report", "oracle-report.json", "file to write all results to")
	parallel := flags.Int("parallel", 4, "templates at once")
	threshold := flags.Float64("threshold", 99.5, "percentage of templates that must agree on every site")
	a := &agreement{}
	if err := a.parse(flags, args); err != nil {
		return err
	}
	engine, err := original.New(ctx, a.root)
	if err != nil {
		return err
	}
	a.engine, a.parallel = engine, *parallel
	paths, err := find(a.root, strings.Split(*only, ","))
	if err != nil {
		return err
	}
	trials := a.all(ctx, paths)
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(trials, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(*report, text, 0o644); err != nil {
		return err
	}
	if percent := printReport(os.Stdout, trials, a.vedette != ""); percent < *threshold && a.vedette != "" {
		return fmt.Errorf("%.2f %% of the templates agree; wanted are %.2f %%", percent, *threshold)
	}
	return nil
}

func (a *agreement) all(ctx context.Context, paths []string) []*trial {
	trials := make([]*trial, len(paths))
	var wg sync.WaitGroup
	slots := make(chan struct{}, a.parallel)
	for i, path := range paths {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			trials[i] = &trial{Template: strings.TrimPrefix(path, a.root+"/")}
			started := time.Now()
			if err := a.try(ctx, trials[i], path); err != nil {
				trials[i].Refused = err.Error()
			}
			trials[i].Seconds = time.Since(started).Seconds()
		})
	}
	wg.Wait()
	return trials
}

// find lists the template files below root whose path contains one of only, in order.
func find(root string, only []string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		wanted := slices.ContainsFunc(only, func(part string) bool { return strings.Contains(path, part) })
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yaml") && wanted &&
			!strings.Contains(path, "/helpers/") && !strings.Contains(path, "/profiles/") {
			paths = append(paths, path)
		}
		return err
	})
	slices.Sort(paths)
	return paths, err
}

// try runs one template on a site of every kind, with nuclei and then with vedette.
func (a *agreement) try(ctx context.Context, t *trial, path string) error {
	read, err := lab.Read(path)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	t.text = string(text)
	input := read.Input()
	compiled, err := a.engine.Load(path, input)
	if err != nil {
		return fmt.Errorf("nuclei: %w", err)
	}
	for _, kind := range lab.Kinds() {
		s, err := open(read, kind)
		if err != nil {
			return err
		}
		defer s.listener.Close()
		t.Sites = append(t.Sites, s)
		found, err := a.original(ctx, compiled, s.Target)
		if err != nil {
			s.Errors = append(s.Errors, "nuclei: "+err.Error())
		}
		s.Theirs = found.Minus(nil)
		s.TheirRequests = s.server.Reset()
	}
	if a.vedette == "" {
		return nil
	}
	if err := a.compare(ctx, t, path, input); err != nil {
		return err
	}
	for _, s := range t.Sites {
		if s.Cause == "" {
			s.TheirRequests, s.OurRequests = nil, nil
		} else if err := a.again(ctx, t, s, path, input); err != nil {
			return err
		}
	}
	return nil
}

// further is the number of repeated nuclei runs after a disagreement.
const further = 2

// again repeats nuclei after a disagreement, in this process and as its command: its results can vary,
// because it keeps values in unordered sets. Agreement with one of them is enough.
func (a *agreement) again(ctx context.Context, t *trial, s *site, path string, input []string) error {
	ours, first := event.SetOf(s.Ours), event.SetOf(s.Theirs)
	for i := range further + 1 {
		var found event.Set
		if i < further {
			compiled, err := a.engine.Load(path, input)
			if err != nil {
				return err
			}
			if found, err = a.original(ctx, compiled, s.Target); err != nil {
				continue
			}
		} else if a.nuclei == "" {
			break
		} else {
			events, err := command(ctx, a.nuclei, path, s.Target, input)
			if err != nil {
				return err
			}
			found = event.SetOf(events)
		}
		s.server.Reset()
		s.Varies = s.Varies || cause(t.text, first, found, "") != ""
		if cause(t.text, found, ours, "") == "" || s.Varies && cause("", bare(first), bare(ours), "") == "" {
			s.Cause = ""
			return nil
		}
	}
	return nil
}

func (a *agreement) original(ctx context.Context, t original.Template, target string) (event.Set, error) {
	timed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return a.engine.Run(timed, t, target)
}

func open(t *lab.Template, kind lab.Kind) (*site, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host := listener.Addr().String()
	if t.Named() {
		host = strings.Replace(host, "127.0.0.1", "localhost", 1)
	}
	s := &site{Kind: kind, Target: "http://" + host + "/", server: lab.NewSite(t, kind), listener: listener}
	s.Solved = s.server.Solved
	go s.server.Serve(listener)
	return s, nil
}

// compare runs vedette on all sites of the trial at once and records the differences.
func (a *agreement) compare(ctx context.Context, t *trial, path string, input []string) error {
	targets := make([]string, len(t.Sites))
	for i, s := range t.Sites {
		targets[i] = s.Target
	}
	timed, cancel := context.WithTimeout(ctx, time.Duration(len(targets))*patience)
	defer cancel()
	found, trouble, err := scan(timed, a.vedette, path, targets, input)
	if err != nil {
		return errors.Join(errors.New("vedette: "), err)
	}
	for _, s := range t.Sites {
		ours, theirs := event.Set{}, event.SetOf(s.Theirs)
		for _, e := range found {
			if strings.HasSuffix(strings.TrimSuffix(s.Target, "/"), ":"+e.Port) {
				ours.Add(e)
			}
		}
		s.OurRequests = s.server.Reset()
		s.Ours = ours.Minus(nil)
		if trouble != "" {
			s.Errors = append(s.Errors, "vedette: "+trouble)
		}
		s.Cause = cause(t.text, theirs, ours, trouble)
	}
	return nil
}
