package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Exploited is the entry of a CVE in the catalogue of known exploited vulnerabilities.
type Exploited struct {
	Added        string // a date, such as 2024-01-31: since then it is known
	Due          string // the date by which authorities are to have mended it; empty: none
	IsRansomware bool   // it is known to be used by ransomware
	Name         string
	Action       string // what is to be done
}

// kevEntry is an entry as CISA publishes it.
type kevEntry struct {
	CVE        string `json:"cveID"`
	Name       string `json:"vulnerabilityName"`
	Added      string `json:"dateAdded"`
	Due        string `json:"dueDate"`
	Action     string `json:"requiredAction"`
	Ransomware string `json:"knownRansomwareCampaignUse"`
}

const maxText = 2000 // bytes of a text

// LoadKEV loads a catalogue of known exploited vulnerabilities: the JSON that CISA publishes, an object with an array
// "vulnerabilities". The error is Invalid and names the entry; then nothing has changed.
func (fs *Feeds) LoadKEV(ctx context.Context, file io.Reader) (Loaded, error) {
	l := fs.begin(KEV, "feed_kev (generation, cve, added, due, is_ransomware, name, action)")
	version, err := l.readKEV(ctx, file)
	return l.end(ctx, version, err)
}

func (l *load) readKEV(ctx context.Context, file io.Reader) (version string, err error) {
	from, err := l.open(KEV, file)
	if err != nil {
		return "", err
	}
	d := json.NewDecoder(from)
	version, err = Members(d, KEV, func(key string) (text string, err error) {
		if key != "vulnerabilities" {
			var value json.RawMessage
			err := d.Decode(&value)
			if key == "catalogVersion" || key == "dateReleased" {
				_ = json.Unmarshal(value, &text) // else it is no text
			}
			return text, err
		}
		return "", Array(d, KEV, func(n int) error {
			var e kevEntry
			if err := d.Decode(&e); err != nil {
				return err
			}
			return l.putKEV(ctx, n, e)
		})
	})
	return version, AsInvalid(KEV, d, err)
}

// Members walks the members of an object; do reads the value of one, and the first
// text that it gives is kept. name is the feed, for errors.
func Members(d *json.Decoder, name string, do func(key string) (string, error)) (first string, err error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", errors.Join(err, errs.Field(name, "The file is not the JSON object that is expected."))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		text, err := do(fmt.Sprint(key))
		if err != nil {
			return "", err
		}
		if first == "" {
			first = text
		}
	}
	_, err = d.Token()
	return first, err
}

// Array walks the elements of an array; do reads one, with its number from 1 on.
func Array(d *json.Decoder, name string, do func(n int) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.Join(err, errs.Field(name, "The list of entries is no array."))
	}
	for n := 1; d.More(); n++ {
		if err := do(n); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// AsInvalid makes an error of decoding one that the caller has caused.
func AsInvalid(name string, d *json.Decoder, err error) error {
	if err == nil || errs.From(err).Kind == errs.Invalid {
		return err
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errs.Field(name, "The file is no valid JSON at byte %d: %v.", d.InputOffset(), err)
	}
	return err
}

func (l *load) putKEV(ctx context.Context, n int, e kevEntry) error {
	where := fmt.Sprintf("entry %d", n)
	id, err := idOf(KEV, where, e.CVE)
	if err != nil {
		return err
	}
	added := dateOf(e.Added)
	if added == "" {
		return errs.Field(KEV, "%s: dateAdded %.40q is no date.", where, e.Added)
	}
	return l.put(ctx, id, added, dateOf(e.Due), strings.EqualFold(e.Ransomware, "known"),
		errs.Clip(db.Clean(e.Name), maxText), errs.Clip(db.Clean(e.Action), maxText))
}

// KnownExploited are the entries of CVEs, by CVE. Those that are not in the catalogue are left out.
func KnownExploited(ctx context.Context, q db.Querier, cves []string) (map[string]Exploited, error) {
	out := map[string]Exploited{}
	return out, each(ctx, q, "kev", "feed_kev", "added, due, is_ransomware, name, action", cves, func(r db.Row) error {
		var cve string
		var e Exploited
		err := r.Scan(&cve, &e.Added, &e.Due, &e.IsRansomware, &e.Name, &e.Action)
		out[cve] = e
		return err
	})
}
