package proof

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// outcome is what a replay showed.
type outcome struct {
	Finding string          `json:"vuln_id"`
	Target  string          `json:"target,omitempty"`
	Result  evidence.Result `json:"result"`
	Note    string          `json:"note,omitempty"`
}

func newReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay VULN_ID|FILE", Short: "Send a proof again: the same, changed, or gone", Args: cobra.ExactArgs(1),
		Long: `Sends the proof of a finding again and says what that shows: same (the check shows the
weakness, with the same status and values), changed (it shows it, with others), gone (the
place answered, and the check does not show it), or failed (it could not be tested, which
says nothing).

By the id of a finding, its server does it, within the exclusions of the team. From a file,
this machine does it, without a server, with the templates in the file; a file that was
changed is not replayed, and only the targets in it are contacted. Replay files of people
whom you trust, with --key. What was seen at a public address is not looked for in private
networks. It exits with 3 when something could not be tested, with 7 when a target was out
of scope.`,
		Example: `  vedette evidence replay VULN_ID
  vedette evidence replay evidence.jsonl --key 4f2a… -o json`,
	}
	var server, key string
	serverFlag(cmd, &server)
	cmd.Flags().StringVar(&key, "key", "", "the public key of the server that must have signed the file")
	wait := cmd.Flags().Duration("timeout", 5*time.Minute, "how long to wait for a server's replay")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var all []outcome
		var err error
		if _, statErr := os.Stat(args[0]); statErr == nil {
			all, err = replayFile(cmd.Context(), args[0], key)
		} else {
			all, err = replayFinding(cmd.Context(), server, args[0], *wait)
		}
		if err != nil {
			return err
		}
		if err := show(cmd.OutOrStdout(), all, *output == "json"); err != nil {
			return err
		}
		return exitOf(all)
	}
	return cmd
}

func show(w io.Writer, all []outcome, asJSON bool) error {
	for _, one := range all {
		if asJSON {
			if err := json.NewEncoder(w).Encode(one); err != nil {
				return err
			}
			continue
		}
		text := fmt.Sprintf("%s  %s  %s", one.Finding, one.Result, one.Target)
		if one.Note != "" {
			text += "  " + one.Note
		}
		if _, err := fmt.Fprintln(w, cli.Printable(strings.TrimRight(text, " "))); err != nil {
			return err
		}
	}
	return nil
}

func exitOf(all []outcome) error {
	code := 0
	for _, one := range all {
		switch {
		case one.Result != evidence.Failed:
		case strings.Contains(one.Note, outOfScope):
			return cli.Silent(cli.ExitOutOfScope)
		default:
			code = cli.ExitPartial
		}
	}
	if code == 0 {
		return nil
	}
	return cli.Silent(code)
}

// outOfScope is how the engine says that a target was out of scope.
const outOfScope = string(engine.Denied)

// pollInterval is how often a server is asked whether a replay has ended.
const pollInterval = 250 * time.Millisecond

// replayFinding has a server replay a finding, and waits for the end.
func replayFinding(ctx context.Context, server, id string, wait time.Duration) ([]outcome, error) {
	c, err := client.Connect(server)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errors.New("the replay has not ended in time; it goes on"))
	defer cancel()
	path := "/v1/scans/vuln/" + url.PathEscape(id)
	type run struct{ ID, State, Note string }
	var begun run
	if err := c.Call(ctx, http.MethodPost, path+"/replay", nil, &begun); err != nil {
		return nil, err
	}
	for {
		var now struct {
			Replays []run `json:"replays"`
			Fields  []evidence.Field
		}
		if err := c.Call(ctx, http.MethodGet, path+"/evidence", nil, &now); err != nil {
			return nil, err
		}
		for _, r := range now.Replays {
			if r.ID == begun.ID && r.State != "queued" {
				return []outcome{{id, fieldOf(now.Fields, "target"), evidence.Result(r.State), r.Note}}, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

func fieldOf(fields []evidence.Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Text
		}
	}
	return ""
}

// kept is a sighting in a file.
type kept struct {
	facts  evidence.Facts
	fields []evidence.Field
	masked map[string]bool
}

// replayFile replays the sightings of a file.
func replayFile(ctx context.Context, name, key string) ([]outcome, error) {
	var sightings []kept
	texts := map[string]evidence.Template{}
	report, err := verify(name, key, evidence.Visitor{
		Record: func(r evidence.Record, f evidence.Facts) {
			if f.Kind == evidence.Sighting {
				sightings = append(sightings, keep(r, f))
			}
		},
		Template: func(t evidence.Template) { texts[t.Digest] = t },
	}, nil)
	if err != nil {
		return nil, err
	}
	if !report.IsIntact() {
		p := report.Problems[0]
		return nil, fmt.Errorf("the file was changed, and is not replayed: line %d: %s", p.Line, p.What)
	}
	all := make([]outcome, 0, len(sightings))
	for _, s := range sightings {
		one := outcome{Finding: s.facts.FindingID, Target: fieldOf(s.fields, "target"), Result: evidence.Failed}
		text, known := texts[s.facts.Digest]
		switch {
		case !known:
			one.Note = "unproven: the file has no template that showed it"
		case s.masked["target"]:
			one.Note = "the target is masked"
		default:
			if one.Result, one.Note, err = s.replay(ctx, one.Target, text); err != nil {
				return all, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

func keep(r evidence.Record, f evidence.Facts) kept {
	k := kept{facts: f, masked: map[string]bool{}}
	for _, field := range r.Fields {
		text, masked := field.Text()
		k.fields = append(k.fields, evidence.Field{Name: field.Name, Text: text})
		k.masked[field.Name] = k.masked[field.Name] || masked
	}
	return k
}

// replay runs the template of a sighting on its target, and on nothing else.
func (k kept) replay(ctx context.Context, target string, t evidence.Template) (evidence.Result, string, error) {
	text, err := base64.StdEncoding.DecodeString(t.Text)
	if err != nil {
		return evidence.Failed, "the template cannot be read", nil
	}
	_, p, err := templates.Compile(t.ID+".yaml", text, nil)
	if err != nil {
		return evidence.Failed, "the template cannot be run: " + err.Error(), nil
	}
	var deny []netip.Prefix
	if was, err := netip.ParseAddr(k.facts.IP); err == nil && !netguard.IsSpecial(was) {
		deny = netguard.Special()
	}
	e, err := options.Options{}.Open([]string{target}, deny, &netguard.Guard{})
	if err != nil {
		return evidence.Failed, cli.Plain(err), nil
	}
	defer e.Close()
	result, note := evidence.Gone, ""
	_, err = e.Run(ctx, engine.Scan{
		Targets: []string{target}, Programs: []*program.Program{p},
		OnEvent: func(ev engine.Event) {
			if k.shows(ev) && result == evidence.Gone {
				result = k.compare(ev)
			}
		},
		OnTarget: func(r *engine.TargetReport) {
			if state, why := r.Cell(0); state != engine.Tested && result == evidence.Gone {
				result, note = evidence.Failed, strings.TrimSuffix(string(state)+": "+why, ": ")
			}
		},
	})
	return result, note, err
}

// shows reports whether an event is of the same part of the check, at the same path.
func (k kept) shows(ev engine.Event) bool {
	for name, text := range map[string]string{
		"matcher-name": ev.MatcherName, "extractor-name": ev.ExtractorName, "path": ev.Path,
	} {
		if !k.masked[name] && fieldOf(k.fields, name) != text {
			return false
		}
	}
	return true
}

// compare compares an event with what was seen; what is masked counts as equal.
func (k kept) compare(ev engine.Event) evidence.Result {
	was := evidence.Answer{Response: fieldOf(k.fields, "response")}
	is := evidence.Answer{Response: ev.Response, Extracted: ev.ExtractedResults}
	for _, f := range k.fields {
		if f.Name == "extracted-results" {
			was.Extracted = append(was.Extracted, f.Text)
		}
	}
	if k.masked["extracted-results"] {
		was.Extracted, is.Extracted = nil, nil
	}
	return evidence.Compare(was, is)
}
