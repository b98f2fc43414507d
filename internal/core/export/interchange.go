package export

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/feed"
	"github.com/vedette-sec/vedette/internal/core/export/vex"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// factsOf reads a document, with the texts of its class of weakness where it has none.
func factsOf(d *finding.Document) fact.Finding {
	f := fact.Of(d)
	f.Complete()
	return f
}

// about is the head of a VEX document.
func (f *File) about(ctx context.Context) (vex.Document, error) {
	team, err := f.es.teamName(ctx, f.caller.TeamID)
	return vex.Document{Title: f.Name, Author: team, ID: ids.New(), At: f.at, Version: f.es.from.Version}, err
}

func (f *File) writeCycloneDX(ctx context.Context, out *output) error {
	about, err := f.about(ctx)
	if err != nil {
		return err
	}
	c := vex.CycloneDX{Document: about}
	if err := out.text(string(c.Head())); err != nil {
		return err
	}
	if err := f.list(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) {
		facts := factsOf(d)
		return c.Append(dst, &facts), nil
	}); err != nil {
		return err
	}
	return out.text(string(c.Tail()))
}

// writeCollected writes CSAF or OpenVEX.
func (f *File) writeCollected(ctx context.Context, out *output) error {
	about, err := f.about(ctx)
	if err != nil {
		return err
	}
	var all vex.Collected
	if err := f.encode(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) {
		facts := factsOf(d)
		all.Add(&facts)
		return dst, nil
	}); err != nil {
		return err
	}
	if f.Format == CSAF {
		return all.CSAF(out.w, about)
	}
	return all.OpenVEX(out.w, about)
}

func (f *File) writeDefectDojo(ctx context.Context, out *output) error {
	if err := out.text(feed.DojoHead); err != nil {
		return err
	}
	if err := f.list(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) {
		facts := factsOf(d)
		return feed.AppendDojo(dst, &facts, d.Request.Text, d.Response.Text), nil
	}); err != nil {
		return err
	}
	return out.text(feed.DojoTail)
}

func (f *File) writeOCSF(ctx context.Context, out *output) error {
	return f.encode(ctx, out, func(dst []byte, d *finding.Document) ([]byte, error) {
		facts := factsOf(d)
		return append(feed.AppendOCSF(dst, &facts, f.es.from.Version), '\n'), nil
	})
}
