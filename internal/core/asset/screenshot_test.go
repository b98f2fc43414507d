package asset

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestScreenshots stores pictures, and nothing else.
func TestScreenshots(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		bad := web("bad.example.com", 443, "Bad")
		bad.Screenshot = []byte("\x89PNG\r\n\x1a\nand more")
		no := web("no.example.com", 443, "No")
		no.Screenshot = []byte("<svg onload=alert(1)>")
		r.observe(t, "e", 1, bad, no)
		p := r.list(t, Query{})
		png, size, err := r.Screenshot(r.alice, p.Assets[1].ID)
		if err != nil || !p.Assets[1].HasScreenshot || p.Assets[0].HasScreenshot {
			t.Fatal(err)
		}
		defer png.Close()
		if got, err := io.ReadAll(png); err != nil || !bytes.Equal(got, bad.Screenshot) || size != int64(len(got)) {
			t.Errorf("%q, %v", got, err)
		}
		for _, ask := range []struct {
			ctx context.Context
			id  int64
		}{{r.stranger, p.Assets[1].ID}, {r.alice, p.Assets[0].ID}} {
			if _, _, err := r.Screenshot(ask.ctx, ask.id); !errs.Is(err, errs.NotFound) {
				t.Errorf("a picture that is not there: %v", err)
			}
		}
	})
}
