// Package importer reads the reports of other tools. Each format is a file of a package below it, which makes records
// of what one tool writes; this package has the list of all, and reads a report whose format may have to be recognised.
//
// Nothing of a report is dropped in silence: an item becomes a record, is rejected with a reason and a place, or is
// counted as ignored with the reason why it is no finding. Nothing is merged either: one sighting is one record.
package importer

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/vedette-sec/vedette/internal/importer/cloud"
	"github.com/vedette-sec/vedette/internal/importer/code"
	"github.com/vedette-sec/vedette/internal/importer/generic"
	"github.com/vedette-sec/vedette/internal/importer/kit"
	"github.com/vedette-sec/vedette/internal/importer/network"
	"github.com/vedette-sec/vedette/internal/importer/packages"
	"github.com/vedette-sec/vedette/internal/importer/web"
)

// Record is one sighting of a weakness by another tool.
type Record = kit.Record

// Item is a record, or an item of a report that is none, and why.
type Item = kit.Item

// Rejection is an item of a report that is no record, and why.
type Rejection = kit.Rejection

// Summary counts what a report held.
type Summary = kit.Summary

// Options say how a report is read.
type Options = kit.Options

// Format is one kind of report.
type Format = kit.Format

// Formats are all formats that can be read, by name.
func Formats() []Format { return all() }

func all() kit.Set {
	set := kit.Set(slices.Concat(web.Formats(), network.Formats(), code.Formats(), packages.Formats(), cloud.Formats(),
		generic.Formats()))
	slices.SortFunc(set, func(a, b Format) int { return cmp.Compare(a.Name, b.Name) })
	return set
}

// Read reads a report and gives its items, in their order, to give, whose error ends it; what it returns says what it
// counted, also when it fails: items before a fault were given. Faults of the report are errs.Invalid with the code
// import_malformed, format_unknown or format_ambiguous; a report beyond its bounds is errs.TooLarge.
func Read(ctx context.Context, r io.Reader, opts Options, give func(Item) error) (Summary, error) {
	return all().Read(ctx, r, opts, give)
}
