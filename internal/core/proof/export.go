package proof

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

// The scopes of a file.
const (
	OfFinding = "finding"
	OfScan    = "scan"
	OfTeam    = evidence.ScopeTeam
)

// Request is what a file is about.
type Request struct {
	Scope    string // OfFinding, OfScan or OfTeam
	ID       string // of the finding or the scan
	Unmasked bool   // secrets are shown
}

// File is a file of evidence that can be written.
type File struct {
	Name   string
	proofs *Proofs
	head   evidence.Head
	header evidence.Header
	masker *mask.Masker
	scope  Request
	teamID string
	scan   []int64 // of OfScan and OfFinding: the numbers of the findings, ascending
	about  []int64 // the numbers of the entries with records of the scope, ascending; nil: all
}

// Open checks a request of the caller, who must not be a guest, as entries say who was at work. NotFound: there is no
// such finding or scan, or no evidence of it.
func (ps *Proofs) Open(ctx context.Context, r Request) (*File, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	if r.Unmasked {
		if err := ps.mayUnmask(ctx); err != nil {
			return nil, err
		}
	}
	f := &File{proofs: ps, scope: r, teamID: c.TeamID, Name: "evidence-" + r.Scope}
	switch r.Scope {
	case OfFinding:
		one, err := ps.from.Findings.Find(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		f.scan, f.scope.ID, f.Name = []int64{one.No()}, one.ID, f.Name+"-"+one.ID
	case OfScan:
		scan, err := ps.from.Scans.Find(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if f.scan, err = db.Values[int64](ctx, ps.db, `SELECT no FROM finding WHERE team_id = ? AND scan_id = ? ORDER BY no`,
			c.TeamID, scan.ID); err != nil {
			return nil, err
		}
		f.scope.ID, f.Name = scan.ID, f.Name+"-"+scan.ID
	default:
		f.scope.ID = c.TeamID
	}
	f.Name += ".jsonl"
	if !r.Unmasked {
		if f.masker, err = ps.from.Exports.Masker(ctx, c.TeamID); err != nil {
			return nil, err
		}
	}
	if f.head, err = ps.sign(ctx, c.TeamID); err != nil {
		return nil, err
	}
	if f.head.Seq == 0 {
		return nil, errNoEvidence()
	}
	lost, err := db.Value[int64](ctx, ps.db, `SELECT coalesce(max(seq), 0) FROM evidence_head WHERE team_id = ? AND seq > ?`,
		c.TeamID, f.head.Seq)
	if err != nil {
		return nil, err
	}
	f.header = evidence.Header{
		TeamID: c.TeamID, Lost: lost, Scope: evidence.Scope{Kind: r.Scope, ID: f.scope.ID}, Masked: !r.Unmasked,
		MadeAt: evidence.Time(ps.now()), MadeBy: "Vedette " + ps.from.Findings.Version,
	}
	f.about, err = f.entries(ctx)
	return f, err
}

// Write writes the file. Each chain of entries in it ends at a signed one.
func (f *File) Write(ctx context.Context, w io.Writer) error {
	key, err := f.proofs.signer(ctx)
	if err != nil {
		return err
	}
	out := evidence.NewWriter(w, key, f.header)
	about := f.about
	templates := map[string]finding.Finding{}
	for seq := int64(0); ; {
		// The next entry is the first one that it is about.
		if about != nil {
			next, _ := slices.BinarySearch(about, seq+1)
			if next == len(about) {
				break
			}
			seq = about[next] - 1
		}
		done, err := f.segment(ctx, out, seq+1, about, templates)
		if err != nil {
			return err
		}
		if seq = done; about == nil && seq >= f.head.Seq {
			break
		}
	}
	if err := f.templates(ctx, out, templates); err != nil {
		return err
	}
	return out.Close()
}

// entries are the numbers of the entries with records of the scope, ascending; nil: all.
func (f *File) entries(ctx context.Context) (about []int64, err error) {
	if f.scope.Scope == OfTeam {
		return nil, nil
	}
	about = []int64{}
	err = db.Each(ctx, f.proofs.db, func(r db.Row) error {
		var seq, first, last int64
		var text []byte
		if err := r.Scan(&seq, &first, &last, &text); err != nil {
			return err
		}
		at, _ := slices.BinarySearch(f.scan, first)
		if at < len(f.scan) && f.scan[at] <= last || f.isOfScan(text) {
			about = append(about, seq)
		}
		return nil
	}, `SELECT seq, first_no, last_no, entry FROM evidence_entry WHERE team_id = ? AND seq <= ? ORDER BY seq`, f.teamID,
		f.head.Seq)
	if err == nil && len(about) == 0 {
		return nil, errNoEvidence()
	}
	return about, err
}

// isOfScan reports whether an entry was made by the scan that the file is about: findings of it may be deleted.
func (f *File) isOfScan(text []byte) bool {
	if f.scope.Scope != OfScan {
		return false
	}
	e, err := (chain.Stored{Text: text}).Entry()
	return err == nil && e.Kind == evidence.Sighting && e.ID == f.scope.ID
}

// segment writes entries from one on, until the first signed one after which no other of the scope follows at once.
func (f *File) segment(
	ctx context.Context, out *evidence.Writer, from int64, about []int64, templates map[string]finding.Finding,
) (done int64, err error) {
	heads, err := f.proofs.heads(ctx, f.teamID, from, f.head.Seq)
	if err != nil {
		return 0, err
	}
	for seq := from; ; seq++ {
		stored, err := chain.Read(f.proofs.db.QueryRow(ctx, `SELECT `+chain.Columns+` FROM evidence_entry
			WHERE team_id = ? AND seq = ?`, f.teamID, seq))
		if err != nil {
			return 0, err
		}
		if _, is := slices.BinarySearch(about, seq); is || about == nil {
			out.Entry(stored.Text, stored.Leaves)
			if err := f.records(ctx, out, stored, templates); err != nil {
				return 0, err
			}
		} else {
			out.Entry(stored.Text, nil)
		}
		for len(heads) > 0 && heads[0].Seq < seq {
			heads = heads[1:]
		}
		if len(heads) == 0 || heads[0].Seq != seq {
			continue
		}
		out.Head(heads[0])
		if _, goesOn := slices.BinarySearch(about, seq+1); about == nil && seq < f.head.Seq || goesOn {
			continue
		}
		return seq, nil
	}
}

// recordsAtOnce is how many findings are in memory at a time: one may have 2 MiB.
const recordsAtOnce = 16

// records writes the records of an entry that are of the scope.
func (f *File) records(
	ctx context.Context, out *evidence.Writer, stored chain.Stored, templates map[string]finding.Finding,
) error {
	if stored.Kind == evidence.Run {
		return f.run(ctx, out, stored)
	}
	of := f.isOfScan(stored.Text)
	for part := range slices.Chunk(stored.Leaves, recordsAtOnce) {
		var numbers []int64
		for _, l := range part {
			if _, is := slices.BinarySearch(f.scan, l.No); is || of || f.scope.Scope == OfTeam {
				numbers = append(numbers, l.No)
			}
		}
		byNo, numbers, err := f.read(ctx, out, numbers)
		if err != nil {
			return err
		}
		for _, no := range numbers {
			one, is := byNo[no]
			if !is {
				out.Pruned(no)
				continue
			}
			if err := f.record(out, stored, no, one.Seen()); err != nil {
				return err
			}
			if one.Proof != nil && one.Proof.Digest != "" {
				one.Event.Request, one.Event.Response = "", "" // the template alone is needed
				templates[one.Proof.Digest] = one
			}
		}
	}
	return nil
}

// read reads findings, and writes which of them are damaged so that they cannot be read; left are the others.
func (f *File) read(
	ctx context.Context, out *evidence.Writer, numbers []int64,
) (byNo map[int64]finding.Finding, left []int64, err error) {
	byNo = make(map[int64]finding.Finding, len(numbers))
	found, err := f.proofs.from.Findings.Whole(ctx, f.teamID, numbers)
	for _, one := range found {
		byNo[one.No()] = one
	}
	if err == nil || !isMalformed(err) {
		return byNo, numbers, err
	}
	for _, no := range numbers { // one of them is
		one, err := f.proofs.from.Findings.Whole(ctx, f.teamID, []int64{no})
		switch {
		case isMalformed(err):
			out.Damaged(no, "")
			continue
		case err != nil:
			return nil, nil, err
		case len(one) > 0:
			byNo[no] = one[0]
		}
		left = append(left, no)
	}
	return byNo, left, nil
}

// isMalformed reports whether an error is about JSON that was stored.
func isMalformed(err error) bool {
	if _, is := errors.AsType[*json.SyntaxError](err); is {
		return true
	}
	_, is := errors.AsType[*json.UnmarshalTypeError](err)
	return is
}

// record writes one record, or that it is damaged.
func (f *File) record(out *evidence.Writer, stored chain.Stored, no int64, seen chain.Seen) error {
	facts, key, fields, err := seen.Record(stored.Secret)
	if err != nil {
		return err
	}
	if evidence.LeafOf(facts, key, fields) != leafOf(stored, no) {
		out.Damaged(no, seen.FindingID)
		return nil
	}
	var masker func(string) string
	if f.masker != nil {
		f.masker.Forget()
		f.masker.Learn(seen.Event.Request)
		f.masker.Learn(seen.Event.Response)
		for _, c := range seen.Event.Compared {
			f.masker.Learn(c.Request)
			f.masker.Learn(c.Response)
		}
		masker = f.masker.Text
	}
	out.Record(evidence.Open(no, facts, key, fields, masker))
	return nil
}

// run writes the record of a proof that was sent again.
func (f *File) run(ctx context.Context, out *evidence.Writer, stored chain.Stored) error {
	no := stored.Leaves[0].No
	if _, is := slices.BinarySearch(f.scan, no); !is && f.scope.Scope != OfTeam {
		return nil
	}
	var id, findingID, hash, note string
	var result evidence.Result
	var doc []byte
	err := f.proofs.db.QueryRow(ctx, `SELECT r.id, r.state, r.note, r.seen, f.id, f.hash FROM evidence_run r
		JOIN finding f ON f.team_id = r.team_id AND f.no = r.no WHERE r.team_id = ? AND r.no = ? AND r.seq = ?`,
		f.teamID, no, stored.Seq).Scan(&id, &result, &note, &doc, &findingID, &hash)
	if db.IsNoRows(err) {
		out.Pruned(no)
		return nil
	}
	if err != nil {
		return err
	}
	seen, err := chain.SeenAgain(id, findingID, hash, result, note, doc)
	if err != nil { // it was written as JSON
		out.Damaged(no, findingID)
		return nil //nolint:nilerr // the file says so
	}
	return f.record(out, stored, no, seen)
}

// templates writes the texts of the templates that the records were made with, as far as they are known.
func (f *File) templates(ctx context.Context, out *evidence.Writer, of map[string]finding.Finding) error {
	digests := make([]string, 0, len(of))
	for digest := range of {
		digests = append(digests, digest)
	}
	slices.Sort(digests)
	for _, digest := range digests {
		one := of[digest]
		text, found, err := f.proofs.from.Scans.TemplateOf(ctx, f.teamID, one)
		if err != nil && !errs.Is(err, errs.NotFound) {
			return err
		}
		// A template is whole or left out.
		hides := f.masker != nil && f.masker.Text(string(text.Data)) != string(text.Data)
		if found && !hides && evidence.Hash(text.Data) == digest {
			out.Template(evidence.Template{
				ID: one.TemplateID, Digest: digest, Text: base64.StdEncoding.EncodeToString(text.Data),
			})
		}
	}
	return nil
}
