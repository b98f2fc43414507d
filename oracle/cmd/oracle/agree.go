package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/oracle/event"
	"github.com/vedette-sec/vedette/oracle/lab"
	"github.com/vedette-sec/vedette/oracle/original"
)

// trial is one template on the lab's sites for it.
type trial struct {
	Template string             `json:"template"` // path
	ID       string             `json:"id"`
	Sites    map[lab.Kind]*site `json:"sites"`
	Refused  string             `json:"refused,omitempty"` // why the template was not tried
}

// site is what both programs said of one site.
type site struct {
	Target string        `json:"target"`
	Solved bool          `json:"solved"`
	Theirs []event.Event `json:"nuclei"`
	Ours   []event.Event `json:"vedette"`
	Error  string        `json:"error,omitempty"`
}

func agree(ctx context.Context, flags *flag.FlagSet, args []string) error {
	folder := flags.String("templates", "", "folder of templates")
	report := flags.String("report", "oracle-report.json", "file to write all results to")
	parallel := flags.Int("parallel", 4, "templates at once")
	only := flags.String("only", "", "only templates whose path contains this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := filepath.Abs(*folder)
	if err != nil {
		return err
	}
	engine, err := original.New(ctx, root)
	if err != nil {
		return err
	}
	paths, err := find(root, *only)
	if err != nil {
		return err
	}
	trials := make([]*trial, len(paths))
	var wg sync.WaitGroup
	slots := make(chan struct{}, *parallel)
	for i, path := range paths {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			trials[i] = try(ctx, engine, path)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	wg.Wait()
	tell(trials)
	text, err := json.MarshalIndent(trials, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(*report, text, 0o644)
}

// find lists the template files below root, in order.
func find(root, only string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yaml") && strings.Contains(path, only) &&
			!strings.Contains(path, "/helpers/") && !strings.Contains(path, "/profiles/") {
			paths = append(paths, path)
		}
		return err
	})
	slices.Sort(paths)
	return paths, err
}

// try runs one template on a site of every kind.
func try(ctx context.Context, engine *original.Engine, path string) *trial {
	t := &trial{Template: path, Sites: map[lab.Kind]*site{}}
	read, err := lab.Read(path)
	if err != nil {
		t.Refused = "lab: " + err.Error()
		return t
	}
	t.ID = read.ID
	compiled, err := engine.Load(path)
	if err != nil {
		t.Refused = "nuclei: " + err.Error()
		return t
	}
	for _, kind := range lab.Kinds() {
		server := lab.NewSite(read, kind)
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Refused = err.Error()
			return t
		}
		go server.Serve(listener)
		s := &site{Target: "http://" + listener.Addr().String() + "/", Solved: server.Solved}
		t.Sites[kind] = s
		found, err := engine.Run(ctx, compiled, s.Target)
		if err != nil {
			s.Error = err.Error()
		}
		s.Theirs = found.Minus(nil)
		listener.Close()
	}
	return t
}

func tell(trials []*trial) {
	refused := map[string]int{}
	fired, solved := map[lab.Kind]int{}, map[lab.Kind]int{}
	served := 0
	for _, t := range trials {
		if t.Refused != "" {
			if len(t.Refused) > 40 {
				t.Refused = t.Refused[:40]
			}
			refused[t.Refused]++
			continue
		}
		served++
		any := false
		for kind, s := range t.Sites {
			if len(s.Theirs) > 0 {
				fired[kind]++
				any = any || kind != lab.Nothing
			}
			if s.Solved {
				solved[kind]++
			}
		}
		if any {
			fired["any"]++
		}
	}
	fmt.Println("served", served, "solved", solved, "fired", fired)
	fmt.Println("refused", refused)
}
