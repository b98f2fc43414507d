package review

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/review/program"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/notify/forge"
)

// Bounds of what is fetched for programs.
const (
	maxFetched = 100
	maxContent = 20 << 20 // bytes of all
)

// inspect has programs look at the files of a change. A secret that a rule has found is not found again.
func (w work) inspect(ctx context.Context, pull forge.Change, found *examined) error {
	kinds := []rule.Kind{rule.Secret, rule.Code}
	if focus := rule.Kind(*w.config.Focus); *w.config.Focus != FocusAll {
		kinds = slices.DeleteFunc(kinds, func(k rule.Kind) bool { return k != focus })
	}
	if w.Programs == nil || len(found.shown) == 0 || !w.Programs.Wanted(kinds...) {
		return nil
	}
	files, err := w.fetch(ctx, pull, found)
	if err != nil {
		return err
	}
	got, err := w.Programs.Run(ctx, files, kinds...)
	if err != nil {
		return err
	}
	found.ran, found.problems = got.Ran, got.Problems
	for _, f := range got.Findings {
		isKnown := func(o rule.Finding) bool { return o.Kind == rule.Secret && place(o) == place(f) }
		if f.Kind != rule.Secret || !slices.ContainsFunc(found.findings, isKnown) {
			found.take(w.config, textOf(found.shown, f), []rule.Finding{f})
		}
	}
	return nil
}

// fetch reads the files of a change, within bounds; what is left out is noted.
func (w work) fetch(ctx context.Context, pull forge.Change, found *examined) (out []program.File, err error) {
	size := 0
	for _, f := range found.shown {
		if len(out) == maxFetched || size > maxContent {
			found.unseen = append(found.unseen, f.Path)
			continue
		}
		text, whole, err := w.hub.Content(ctx, pull.Head, f.Path)
		if err != nil && !forge.Gone(err) {
			return nil, err
		}
		if err != nil || !whole {
			found.unseen = append(found.unseen, f.Path)
			continue
		}
		size += len(text)
		out = append(out, program.File{Path: f.Path, Text: text, Lines: f.Lines})
	}
	return out, nil
}
