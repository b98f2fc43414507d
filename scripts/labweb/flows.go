package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/lab/web"
	"github.com/vedette-sec/vedette/lab/web/bench"
	"github.com/vedette-sec/vedette/lab/web/goflow"
)

// flows starts the applications of several pages of a stack, or its small sites, each behind a proxy of its own; none
// for a stack that has none.
func (l *lab) flows(ctx context.Context, stack, kind string, list func(string, []string) []web.Flow, o *options) (apps []*application, err error) {
	var classes []string
	if o.classes != "" {
		classes = strings.Split(o.classes, ",")
	}
	only := strings.Split(o.apps, ",")
	all := slices.DeleteFunc(list(stack, classes), func(f web.Flow) bool {
		return o.apps != "" && !slices.Contains(only, f.App) && !slices.Contains(only, f.App+"-"+f.Variant)
	})
	if len(all) == 0 {
		return nil, nil
	}
	inner, err := l.handlers(ctx, stack, kind, all)
	if err != nil {
		return nil, err
	}
	for i := range all {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		a := &application{name: all[i].Name(), url: "http://" + listener.Addr().String(), cases: all[i].Cases, flow: &all[i]}
		server := &http.Server{ReadHeaderTimeout: timeoutOfHeaders, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.requests.Add(1)
			inner[i].ServeHTTP(w, r)
		})}
		l.servers = append(l.servers, server)
		go server.Serve(listener) //nolint:errcheck // it ends when it is closed
		apps = append(apps, a)
	}
	return apps, nil
}

// handlers are what answers for the flows of a stack: those of Go themselves, and proxies to a program.
func (l *lab) handlers(ctx context.Context, stack, kind string, all []web.Flow) (out []http.Handler, err error) {
	if stack == "go" {
		for _, f := range all {
			build := goflow.New
			if kind == "bench" {
				build = bench.New
			}
			h, err := build(f.App, f.Variant, filepath.Join(l.dir, "go-"+kind, f.App+"-"+f.Variant))
			if err != nil {
				return nil, err
			}
			out = append(out, h)
		}
		return out, nil
	}
	python := l.python
	if small(kind) {
		python = filepath.Join(challengers(filepath.Dir(l.python)), "python")
	} else if err := l.databases(ctx, stack); err != nil {
		return nil, err
	}
	ports, err := freePorts(len(all))
	if err != nil {
		return nil, err
	}
	list := make([]string, len(all))
	for i, f := range all {
		list[i] = fmt.Sprintf("%s:%s:%d", f.App, f.Variant, ports[i])
	}
	ready := func(int, string) bool {
		return !slices.ContainsFunc(ports, func(port int) bool { return !kept(port) })
	}
	what := stack + "-" + kind
	_, err = l.program(ctx, what, ready, "LAB_FLOWS="+strings.Join(list, " "), "LAB_PYTHON="+python,
		"LAB_FILES="+filepath.Join(l.dir, what), "LAB_POSTGRES_PORT="+strconv.Itoa(l.postgres),
		"LAB_MARIADB_PORT="+strconv.Itoa(l.mariadb))
	if err != nil {
		return nil, err
	}
	for _, port := range ports {
		out = append(out, proxy(port))
	}
	return out, nil
}

// kept reports whether something listens at a port.
func kept(port int) bool {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// flowArgs are what the tester is told of an application of several pages: its users, its description, and that it may write.
func flowArgs(ctx context.Context, a *application, dir string) (args []string, err error) {
	args = []string{"--level", "active"}
	for _, user := range a.flow.Users {
		args = append(args, "--login", user)
	}
	if a.flow.Spec != "" {
		name := filepath.Join(dir, a.name+".description")
		if err := fetch(ctx, a.url+a.flow.Spec, name); err != nil {
			return nil, err
		}
		args = append(args, "--spec", name)
	}
	if slices.ContainsFunc(a.cases, func(c web.Case) bool { return c.Class == "default" || c.Class == "limit" }) {
		args = append(args, "--guess")
	}
	return args, nil
}

// fetch writes what an address answers to a file.
func fetch(ctx context.Context, address, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
