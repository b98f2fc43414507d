package scan

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/jsontext"
	"golang.org/x/sync/errgroup"
)

const (
	importBatch = 1000    // results in one transaction
	importBytes = 8 << 20 // bytes after which a transaction takes no further result
	maxLine     = 8 << 20 // bytes of one result
)

// Imported is the result of an upload.
type Imported struct {
	ScanID string
	Stored int // new findings
	Merged int // of those, sightings of weaknesses that were known
	Known  int // findings that the scan had already
}

// Import reads results as nuclei writes them, one JSON object a line, into a new scan.
func (ss *Scans) Import(ctx context.Context, name string, body io.Reader) (Imported, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Imported{}, err
	}
	now := ss.now()
	name, err = run.CheckName(cmp.Or(strings.TrimSpace(name), "Uploaded "+now.UTC().Format("2006-01-02 15:04:05")))
	if err != nil {
		return Imported{}, err
	}
	s := Scan{ID: run.NewID(now), TeamID: c.TeamID, UserID: c.UserID, Name: name, Status: Uploaded, IsOSS: true}
	return ss.take(ctx, s, results(body), ss.once(ctx, &s))
}

// Keep makes a scan that keeps results which come one by one, in the caller's transaction.
func (ss *Scans) Keep(ctx context.Context, tx *db.Tx, c account.Caller, name string) (id string, err error) {
	s := Scan{ID: run.NewID(ss.now()), TeamID: c.TeamID, UserID: c.UserID, Name: name, Status: Uploaded, IsOSS: true}
	return s.ID, ss.insert(ctx, tx, &s)
}

// once creates a scan in the first transaction that stores results, so that an empty body leaves no scan.
func (ss *Scans) once(ctx context.Context, s *Scan) func(tx *db.Tx) error {
	made := false
	return func(tx *db.Tx) error {
		if made {
			return nil
		}
		tx.AfterCommit(func() { made = true })
		return ss.insert(ctx, tx, s)
	}
}

// Append reads results into a scan of the caller's team. An upload may be sent again: known findings stay as they are.
func (ss *Scans) Append(ctx context.Context, id string, body io.Reader) (Imported, error) {
	s, err := ss.own(ctx, id)
	if err != nil {
		return Imported{}, err
	}
	return ss.take(ctx, s, results(body), func(*db.Tx) error { return nil })
}

// readBatches reads sightings and gives them in batches, which it reuses.
type readBatches func(ctx context.Context, take func([]finding.Sighting) error) error

// results reads a body as nuclei writes it.
func results(body io.Reader) readBatches {
	return func(_ context.Context, take func([]finding.Sighting) error) error { return readResults(body, take) }
}

// take stores the results that read gives, a batch in a transaction, while it reads the next batch. The error names the
// line that is not a result, and how many results before it are stored.
func (ss *Scans) take(ctx context.Context, s Scan, read readBatches, prepare func(tx *db.Tx) error) (Imported, error) {
	done := Imported{ScanID: s.ID}
	if err := ss.db.CheckRoom(); err != nil {
		return done, err
	}
	batches := make(chan finding.Prepared)
	work, ctx := errgroup.WithContext(ctx)
	var bad error
	work.Go(func() error {
		defer close(batches)
		bad = read(ctx, func(seen []finding.Sighting) error {
			batch, err := finding.Prepare(finding.Origin{
				TeamID: s.TeamID, ScanID: s.ID, Run: s.Run, Source: chain.Import,
			}, seen)
			if err != nil {
				return err
			}
			select {
			case batches <- batch:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		return nil
	})
	work.Go(func() error {
		for batch := range batches {
			err := ss.db.Tx(ctx, func(tx *db.Tx) error {
				if err := prepare(tx); err != nil {
					return err
				}
				n, err := tx.Exec(ctx, `UPDATE scan SET updated_at = ? WHERE id = ?`, db.At(ss.now()), s.ID)
				if err != nil {
					return err
				}
				if n == 0 {
					return errs.Missing("scan") // it was deleted meanwhile
				}
				added, err := ss.findings.Store(ctx, tx, batch)
				tx.AfterCommit(func() {
					done.Stored, done.Known, done.Merged = done.Stored+added.New, done.Known+added.Again, done.Merged+added.Merged
				})
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	err := work.Wait()
	if e := errs.From(bad); err == nil && bad != nil {
		if n := done.Stored + done.Known; n > 0 && e.Kind == errs.Invalid {
			e = errs.New(errs.Invalid, e.Code,
				"%s The %d results before it are stored; send the rest, or all again, to scan %s.",
				e.Message, n, s.ID).At("body")
		}
		err = e
	}
	return done, err
}

// result is a line of an upload: the event, and what is stored besides.
type result struct {
	engine.Event
	MatcherStatus   *bool  `json:"matcher-status"`
	TemplateURL     string `json:"template-url"`
	TemplateEncoded string `json:"template-encoded"`
	Scheme          string `json:"scheme"`
	URL             string `json:"url"`
}

// readResults calls take with batches of results, which it reuses. Results that did not match or are errors are
// skipped.
func readResults(body io.Reader, take func([]finding.Sighting) error) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var batch []finding.Sighting
	read, size := 0, 0
	for n := 1; ; n++ {
		line, err := readLine(lines)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s, ok, err := parseResult(line, n)
			if err != nil {
				return err
			}
			read++
			if ok {
				batch = append(batch, s)
				size += len(line)
			}
		}
		if len(batch) == importBatch || size >= importBytes || end && len(batch) > 0 {
			if err := take(batch); err != nil {
				return err
			}
			clear(batch) // frees the events
			batch, size = batch[:0], 0
		}
		if end {
			break
		}
	}
	if read == 0 {
		return errs.Field("body", "body: there is no result; send one JSON object a line.")
	}
	return nil
}

// readLine reads a line of at most maxLine bytes. The slice is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := append([]byte{}, line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.ReadSlice('\n')
		if long = append(long, line...); len(long) > maxLine {
			return nil, errs.New(errs.TooLarge, "result_too_large", "A result is longer than %d bytes.", maxLine).At("body")
		}
	}
	return long, err
}

// problem says what is wrong with a line, in terms of JSON.
func problem(line []byte, err error) string {
	if field, why, ok := jsontext.Mistake(line, err); ok {
		if field == "" {
			return why
		}
		return field + ": " + why
	}
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Sprintf("%q is no time as RFC 3339 has it", errs.Clip(wrong.Value, 40))
	}
	return err.Error()
}

func parseResult(line []byte, n int) (s finding.Sighting, ok bool, err error) {
	refused := func(why string) (finding.Sighting, bool, error) {
		return s, false, errs.New(errs.Invalid, "invalid_result", "Line %d of the body is not a result: %s.", n,
			why).At("body")
	}
	var r result
	if err := json.Unmarshal(line, &r); err != nil {
		return refused(errs.Clip(problem(line, err), 200))
	}
	if r.TemplateID == "" || r.Host == "" && r.MatchedAt == "" {
		return refused("it needs template-id, and host or matched-at")
	}
	if r.MatcherStatus != nil && !*r.MatcherStatus || r.Error != "" {
		return s, false, nil
	}
	r.Event.MatcherStatus = true
	return finding.Sighting{
		Event: r.Event, Target: r.URL, Scheme: r.Scheme, TemplateURL: r.TemplateURL, TemplateEncoded: r.TemplateEncoded,
		Proof: proofOf(r.TemplateEncoded),
	}, true, nil
}

// proofOf is the proof of a result that came with its template, in base64; nil: it has none.
func proofOf(encoded string) *chain.Proof {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(text) == 0 {
		return nil
	}
	return &chain.Proof{Digest: evidence.Hash(text)}
}
