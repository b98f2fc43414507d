// Command labweb starts the applications of lab/web that can run here, has testers of web applications test each from
// its front page, and prints what they found: recall and false findings of each class, requests and processor time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/lab/web"
	"github.com/vedette-sec/vedette/lab/web/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx)
	if stop(); err != nil {
		fmt.Fprintln(os.Stderr, "labweb:", err)
		os.Exit(1)
	}
}

type options struct {
	stacks, testers, vedette, python, out string
	classes, args, kinds, apps            string
	minutes                               int
	prove, keep                           bool
}

func run(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.stacks, "stacks", "php,java,python,node,go", "which applications")
	flag.StringVar(&o.classes, "classes", "", "only cases of these classes; all without")
	flag.StringVar(&o.kinds, "kinds", "pages,flows", "pages of one input, applications of several pages (flows), and small sites (challenges, second, third, fourth, bench)")
	flag.StringVar(&o.apps, "apps", "", "only these applications of several pages, such as orders or orders-weak; all without")
	flag.StringVar(&o.testers, "testers", "vedette,wapiti", "which testers, of vedette and wapiti")
	flag.StringVar(&o.vedette, "vedette", "bin/vedette", "the program")
	flag.StringVar(&o.python, "python", "", "folder of python and wapiti; made with what the lab needs if it does not exist")
	flag.StringVar(&o.out, "out", "", "folder for what the testers write, and for the missed cases; none without")
	flag.StringVar(&o.args, "args", "", "further arguments of vedette webtest, such as --no-browser")
	flag.IntVar(&o.minutes, "minutes", 20, "limit of one tester on one application")
	flag.BoolVar(&o.prove, "prove", false, "send the proof of each case before")
	flag.BoolVar(&o.keep, "serve", false, "serve the applications until interrupted, and test nothing")
	flag.Parse()
	if o.python != "" {
		for bin, list := range map[string]string{o.python: "lab/web/python/requirements.txt", challengers(o.python): "lab/web/challenge/python/requirements.txt"} {
			if strings.Contains(list, "challenge") && !slices.ContainsFunc(strings.Split(o.kinds, ","), small) {
				continue
			}
			if err := python(ctx, bin, list); err != nil {
				fmt.Printf("what %s has cannot be installed: %v\n", list, err)
			}
		}
	}
	dir, err := os.MkdirTemp("", "labweb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // the databases run as users of their own
		return err
	}
	l := lab{dir: dir, python: filepath.Join(o.python, "python")}
	defer l.stop()
	apps := l.applications(ctx, &o)
	if o.prove {
		for _, a := range apps {
			prove(ctx, a)
		}
	}
	if o.keep {
		for _, a := range apps {
			fmt.Println(a.name, a.url)
		}
		<-ctx.Done()
		return nil
	}
	var results []*result
	for _, tester := range []string{"vedette", "wapiti"} {
		if !slices.Contains(strings.Split(o.testers, ","), tester) {
			continue
		}
		for _, a := range apps {
			r, err := test(ctx, tester, a, &o, dir)
			if err != nil {
				fmt.Printf("%s on %s: %v\n", tester, a.name, err)
				continue
			}
			results = append(results, r)
			r.print()
		}
	}
	for _, kind := range []string{"pages", "flows"} {
		table(kind, results)
	}
	return nil
}

// applications starts what can run here.
func (l *lab) applications(ctx context.Context, o *options) (apps []*application) {
	for name := range strings.SplitSeq(o.stacks, ",") {
		if slices.Contains(strings.Split(o.kinds, ","), "pages") {
			if a, err := l.application(ctx, name, o.classes); err != nil {
				fmt.Printf("%s does not run here: %v\n", name, err)
			} else {
				apps = append(apps, a)
			}
		}
		for _, kind := range []string{"flows", "challenges", "second", "third", "fourth", "bench"} {
			list := map[string]func(string, []string) []web.Flow{"flows": web.Flows, "challenges": web.Challenges, "second": web.Second,
				"third": web.Third, "fourth": web.Fourth, "bench": bench.Flows}[kind]
			if !slices.Contains(strings.Split(o.kinds, ","), kind) {
				continue
			}
			all, err := l.flows(ctx, name, kind, list, o)
			if err != nil {
				fmt.Printf("%s of %s do not run here: %v\n", kind, name, err)
			}
			apps = append(apps, all...)
		}
	}
	return apps
}

// small reports whether a kind is one of the sets of small sites.
func small(kind string) bool {
	return kind == "challenges" || kind == "second" || kind == "third" || kind == "fourth"
}

// challengers is the folder of the python of the challenges, whose frameworks do not go with wapiti.
func challengers(bin string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(bin)), "labchallenge", "bin")
}

// python makes a virtual environment with the libraries of a list, Flask among them, unless it is there.
func python(ctx context.Context, bin, list string) error {
	if _, err := os.Stat(filepath.Join(bin, "flask")); err == nil {
		return nil
	}
	for _, line := range [][]string{{"python3", "-m", "venv", filepath.Dir(bin)},
		{filepath.Join(bin, "pip"), "install", "-q", "-r", list}} {
		if out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.300s", strings.Join(line, " "), err, out)
		}
	}
	return nil
}

// prove sends the proof of each case and prints where it does not show what the label says.
func prove(ctx context.Context, a *application) {
	client := &http.Client{Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	wrong, sent := 0, 0
	for i := range a.cases {
		c := &a.cases[i]
		if c.Expect == "" {
			continue
		}
		sent++
		got, came, err := a.shows(ctx, client, c)
		if err != nil || got != c.True && (c.Expect != "slow" || c.True) {
			wrong++
			fmt.Printf("%s %s: %q shows %v, want %v: %s %v\n", a.name, c.Path, c.Proof, got, c.True, came, err)
		}
	}
	if a.flow != nil && wrong == 0 {
		return
	}
	fmt.Printf("%s: %d proofs, %d not as they are labelled\n", a.name, sent, wrong)
}

// shows sends the proof of a case.
func (a *application) shows(ctx context.Context, client *http.Client, c *web.Case) (bool, string, error) {
	if a.flow != nil {
		return a.flow.Prove(ctx, c, a.url)
	}
	return c.Shows(ctx, client, a.place)
}

// casesOf are the cases of a stack, of some classes.
func casesOf(stack, classes string) (kept []web.Case, err error) {
	cases, err := web.Cases(stack)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if classes == "" || slices.Contains(strings.Split(classes, ","), c.Class) {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// writeCases writes the cases of an application for it to read.
func writeCases(dir string, cases []web.Case) (string, error) {
	lines := make([]string, len(cases))
	for i := range cases {
		lines[i] = cases[i].Line()
	}
	name := filepath.Join(dir, "cases.tsv")
	return name, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
