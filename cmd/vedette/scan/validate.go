package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

type result struct {
	Path   string `json:"path"`
	State  string `json:"state"`           // refused, unsupported, duplicate or skipped
	Reason string `json:"reason"`          // in words
	Param  string `json:"param,omitempty"` // the wrong key, or the missing part of the language
}

// Validate checks templates and prints those that cannot run. It fails silently when one of them is wrong.
func Validate(ctx context.Context, out io.Writer, o templates.Options, asJSON bool) error {
	o.IncludeIgnored, o.Allow = true, templates.AllowAll()
	s, err := templates.Select(ctx, o, program.Options{})
	if err != nil {
		return err
	}
	good, results := resultsOf(s)
	counts := map[string]int{}
	for _, r := range results {
		counts[r.State]++
		if !asJSON {
			fmt.Fprintln(out, cli.Printable(r.Reason))
		}
	}
	bad := counts["refused"] + counts["duplicate"]
	if asJSON {
		err = json.NewEncoder(out).Encode(map[string]any{
			"good": good, "bad": bad, "unsupported": counts["unsupported"], "skipped": counts["skipped"], "templates": results,
		})
	} else {
		fmt.Fprintf(out, "%d good, %d bad", good, bad)
		if n := counts["unsupported"]; n > 0 {
			fmt.Fprintf(out, ", %d not supported yet", n)
		}
		if n := counts["skipped"]; n > 0 {
			fmt.Fprintf(out, ", %d skipped", n)
		}
		fmt.Fprintln(out)
	}
	if err == nil && bad > 0 {
		return cli.Silent(cli.ExitError)
	}
	return err
}

// resultsOf are the results of templates that cannot run, and the number of the others. Each path counts once.
func resultsOf(s *templates.Selection) (good int, results []result) {
	results = []result{}
	seen := map[string]bool{}
	add := func(r result) {
		switch {
		case seen[r.Path]:
		case r.State == "":
			good++
		default:
			results = append(results, r)
		}
		seen[r.Path] = true
	}
	for _, p := range s.Programs {
		add(result{Path: p.Path})
	}
	for _, w := range s.Workflows {
		add(result{Path: w.Path})
	}
	for _, r := range s.Refused {
		add(result{r.Path, "refused", cli.Plain(r.Err), paramOf(r.Err)})
	}
	for _, r := range s.Unsupported {
		add(result{r.Path, "unsupported", cli.Plain(r.Err), paramOf(r.Err)})
	}
	for _, skip := range s.Skipped {
		if skip.Reason == templates.SkippedDuplicate {
			add(result{skip.Path, "duplicate", skip.Path + ": another template has its id", "id"})
		} else {
			add(result{skip.Path, "skipped", skip.Path + ": skipped: " + string(skip.Reason), ""})
		}
	}
	return good, results
}
