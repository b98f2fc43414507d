package technique

import (
	"context"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// file looks for the content of a file.
func (o *probe) file(ctx context.Context, s *Set, p *Payload) (*shown, error) {
	for i := range s.Files {
		f := &s.Files[i]
		if f.Kind != p.Kind || f.grammar.MatchString(message.Shown(o.base.Response.Body)) {
			continue
		}
		first, err := o.try(ctx, o.fill(p.Text, draw(), "{file}", f.Path))
		if err != nil {
			return nil, err
		}
		match := f.grammar.FindString(message.Shown(first.Body))
		if match == "" {
			continue
		}
		missing, err := o.try(ctx, o.fill(p.Text, draw(), "{file}", f.Missing))
		if err != nil || f.grammar.MatchString(message.Shown(missing.Body)) {
			return nil, err
		}
		path, grammar, note := f.Second, f.secondGrammar, "a second file comes back, too"
		if path == "" {
			path, grammar, note = f.Path, f.grammar, "it comes back again"
		}
		second, err := o.try(ctx, o.fill(p.Text, draw(), "{file}", path))
		if err != nil {
			return nil, err
		}
		again := grammar.FindString(message.Shown(second.Body))
		if again == "" && f.Second != "" { // not all machines have the second
			note = "it comes back again"
			if second, err = o.try(ctx, o.fill(p.Text, draw(), "{file}", f.Path)); err != nil {
				return nil, err
			}
			again = f.grammar.FindString(message.Shown(second.Body))
		}
		if again == "" {
			return nil, nil
		}
		return &shown{title: s.Title, payload: first.text, detail: f.Path, confidence: kit.Proved, evidence: []kit.Evidence{
			first.evidence(short(match), "the answer has the content of "+f.Path),
			missing.evidence("", "a name of no file does not bring it"), second.evidence(short(again), note),
		}, proof: o.fileProof(p, f)}, nil
	}
	return nil, nil
}

func short(s string) string { return s[:min(len(s), 300)] }

func (o *probe) fileProof(p *Payload, f *File) *proof.Program {
	send := func(path string) string { return o.fill(p.Text, draw(), "{file}", path) }
	return &proof.Program{About: "The content of " + f.Path + " comes back, and that of a missing file does not.",
		Users: o.users(), Steps: []proof.Step{
			{ID: "file", As: o.user(), Send: o.request(send(f.Path)),
				Expect: []proof.Expect{{What: proof.Matches, Value: f.Grammar}}},
			{ID: "missing", As: o.user(), Send: o.request(send(f.Missing)),
				Expect: []proof.Expect{{What: proof.Matches, Value: f.Grammar, Not: true}}},
		}}
}
