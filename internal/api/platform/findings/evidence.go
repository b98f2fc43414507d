package findings

import (
	"context"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/proof"
)

// The tags: a team's policy is among what its admins decide.
const evidenceTag, teamTag = "Evidence", "Teams"

// VulnerabilityEvidence is what proves a finding.
type VulnerabilityEvidence struct {
	VulnID   string          `json:"vuln_id"`
	VulnHash string          `json:"vuln_hash" doc:"Of what was found where: the same in every scan."`
	Proof    string          `json:"proof" enum:"replayable,unproven" doc:"replayable: the template that showed it is known, so that the proof can be sent again."`
	State    string          `json:"state" enum:"intact,changed,unsealed" doc:"intact: it is as it was sealed. changed: the database has something else. unsealed: an older version stored it; that is made up for within a minute."`
	Seal     *EvidenceSeal   `json:"seal,omitempty" doc:"Where it is in the team's chain; absent: unsealed."`
	Template EvidenceSource  `json:"template" doc:"What showed it."`
	SeenAt   string          `json:"seen_at,omitempty" doc:"When it was seen; absent where an imported report does not say."`
	Fields   []EvidenceField `json:"fields" doc:"What was seen, as it was: nothing is masked."`
	Runs     EvidenceRuns    `json:"verification" doc:"How often it was shown: when it was found, by replays and by retests."`
	Replays  []EvidenceRun   `json:"replays" doc:"Replays and retests, the newest first, at most 100."`
}

// EvidenceSeal is an entry of the chain.
type EvidenceSeal struct {
	Entry    int64  `json:"entry" doc:"Its number in the team's chain, from 1."`
	Hash     string `json:"hash" doc:"SHA-256 of the record."`
	At       string `json:"at" doc:"When it was stored."`
	Source   string `json:"source" doc:"scan, task or import; empty: brought into the chain later."`
	SourceID string `json:"source_id" doc:"The id of the scan or the task."`
	Run      int64  `json:"run" doc:"The run of the scan."`
	By       string `json:"by,omitempty" doc:"Who sent it; absent where a worker stored it, and for guests."`
	Engine   string `json:"engine" doc:"The version of Vedette that stored it."`
}

// EvidenceSource is what showed a finding.
type EvidenceSource struct {
	ID     string `json:"template_id"`
	Digest string `json:"digest,omitempty" doc:"SHA-256 of its text, and of each file that it names; absent: it is not known."`
	Tool   string `json:"tool,omitempty" doc:"The tool whose report was imported."`
}

// EvidenceField is a text of the evidence.
type EvidenceField struct {
	Name string `json:"name" doc:"Such as request, response, extracted-results."`
	Text string `json:"text" doc:"As it was seen."`
}

// EvidenceRuns counts how often a finding was shown.
type EvidenceRuns struct {
	Shown int     `json:"shown" doc:"How many of the runs showed it."`
	Runs  int     `json:"runs" doc:"How often it was looked for, as far as that could be tested."`
	Low   float64 `json:"low" doc:"The share of runs that show it is at least this, at 95 % confidence (Wilson)."`
	High  float64 `json:"high" doc:"And at most this."`
}

// EvidenceRun is a proof that was sent again.
type EvidenceRun struct {
	ID      string     `json:"id"`
	Source  string     `json:"source" enum:"replay,retest" doc:"What sent it: a replay decides nothing, a retest may change the status."`
	State   string     `json:"state" enum:"queued,same,changed,gone,failed" doc:"same: the check shows it, with the same status and values. changed: it shows it, with others. gone: it does not show it. failed: it could not be tested, which says nothing."`
	Note    string     `json:"note,omitempty" doc:"Why it failed."`
	By      string     `json:"by,omitempty" doc:"Who asked for it."`
	AskedAt time.Time  `json:"asked_at" doc:"When it was asked for."`
	EndedAt *time.Time `json:"ended_at,omitempty" doc:"Absent: it has not ended."`
	Entry   int64      `json:"entry,omitempty" doc:"Its entry in the team's chain."`
}

// EvidenceKey is a public key.
type EvidenceKey struct {
	Key string `json:"key" doc:"Ed25519, 64 hexadecimal digits: for 'vedette evidence verify --key'."`
}

// EvidencePolicy is a team's policy.
type EvidencePolicy struct {
	Unmasked string `json:"unmasked" enum:"members,admins,nobody" doc:"Who may export evidence in which secrets are shown; members includes admins."`
}

// EvidenceQuery says how a file is made.
type EvidenceQuery struct {
	Mask string `query:"mask" enum:"secrets,none" default:"secrets" doc:"secrets: passwords, sessions, tokens and keys are masked; the file verifies all the same. none: they are shown, to whom the team's policy allows it; the audit log says so."`
}

func (s area) evidence() {
	const one = "/v1/scans/vuln/{vuln_id}"
	rest.Handle(s.API, wire.Op("get-evidence", "GET "+one+"/evidence", evidenceTag, "What proves a finding", 404),
		func(ctx context.Context, in *wire.VulnPath) (*VulnerabilityEvidence, error) {
			e, err := s.Proofs.Of(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return evidenceOf(e), nil
		})
	rest.Handle(s.API, wire.Op("replay-vulnerability", "POST "+one+"/replay", evidenceTag,
		"Send the proof of a finding again", 404, 409),
		func(ctx context.Context, in *wire.VulnPath) (*EvidenceRun, error) {
			r, err := s.Proofs.Replay(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return new(runOf(r)), nil
		})
	rest.Register(s.API, evidenceFile("export-vulnerability-evidence", "GET "+one+"/evidence/export",
		"The evidence of a finding as a file"),
		func(ctx context.Context, in *struct {
			wire.VulnPath
			EvidenceQuery
		}) (*huma.StreamResponse, error) {
			return s.evidenceFile(ctx, proof.Request{Scope: proof.OfFinding, ID: in.ID}, in.Mask)
		})
	rest.Register(s.API, evidenceFile("export-scan-evidence", "GET /v1/scans/{scan_id}/evidence/export",
		"The evidence of a scan's findings as a file"),
		func(ctx context.Context, in *struct {
			wire.ScanPath
			EvidenceQuery
		}) (*huma.StreamResponse, error) {
			return s.evidenceFile(ctx, proof.Request{Scope: proof.OfScan, ID: in.ID}, in.Mask)
		})
	rest.Register(s.API, evidenceFile("export-evidence", "GET /v1/evidence/export", "All evidence of your team as a file"),
		func(ctx context.Context, in *EvidenceQuery) (*huma.StreamResponse, error) {
			return s.evidenceFile(ctx, proof.Request{Scope: proof.OfTeam}, in.Mask)
		})
	rest.Handle(s.API, wire.Op("get-evidence-key", "GET /v1/evidence/key", evidenceTag,
		"The public key with which this server signs evidence"),
		func(ctx context.Context, _ *struct{}) (*EvidenceKey, error) {
			key, err := s.Proofs.PublicKey(ctx)
			return &EvidenceKey{key}, err
		})
	rest.Handle(s.API, wire.Op("get-evidence-policy", "GET /v1/team/evidence", teamTag,
		"Who may export evidence in which secrets are shown"),
		func(ctx context.Context, _ *struct{}) (*EvidencePolicy, error) {
			p, err := s.Proofs.Policy(ctx)
			return &EvidencePolicy{string(p)}, err
		})
	rest.Handle(s.API, wire.Op("set-evidence-policy", "PUT /v1/team/evidence", teamTag,
		"Set who may export evidence in which secrets are shown"),
		func(ctx context.Context, in *struct{ Body EvidencePolicy }) (*EvidencePolicy, error) {
			return &in.Body, s.Proofs.SetPolicy(ctx, proof.Unmasked(in.Body.Unmasked))
		})
}

// evidenceFile is an operation that answers with a file of evidence.
func evidenceFile(id, route, summary string) rest.Op {
	o := wire.Op(id, route, evidenceTag, summary, 404)
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The file, a JSON object a line. If the connection breaks, it is incomplete, and does not verify.",
		Content:     map[string]*huma.MediaType{evidenceType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	return o
}

const evidenceType = "application/jsonl"

func (s area) evidenceFile(ctx context.Context, r proof.Request, mask string) (*huma.StreamResponse, error) {
	if r.Unmasked = mask == "none"; r.Unmasked {
		rest.Audit(ctx, "export-unmasked")
	}
	file, err := s.Proofs.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.File(ctx, evidenceType, file.Name, func(w io.Writer) error { return file.Write(ctx, w) }), nil
}

func evidenceOf(e proof.Evidence) *VulnerabilityEvidence {
	low, high := e.Runs.Interval()
	out := &VulnerabilityEvidence{
		VulnID: e.Finding.ID, VulnHash: e.Finding.Hash, Proof: proofOf(e.Finding), State: string(e.State),
		Template: EvidenceSource{e.Facts.Template, e.Facts.Digest, e.Facts.Tool}, SeenAt: e.Facts.SeenAt,
		Runs: EvidenceRuns{e.Runs.Shown, e.Runs.Total, low, high}, Fields: []EvidenceField{},
		Replays: rest.Each(e.Again, runOf),
	}
	if e.State != proof.Unsealed {
		out.Seal = &EvidenceSeal{e.Entry.Seq, e.Leaf, e.Entry.At, e.Entry.Source, e.Entry.ID, e.Entry.Run, e.Entry.By,
			e.Entry.Engine}
	}
	for _, f := range e.Fields {
		out.Fields = append(out.Fields, EvidenceField{f.Name, f.Text})
	}
	return out
}

func runOf(r proof.Run) EvidenceRun {
	out := EvidenceRun{ID: r.ID, Source: r.Source, State: r.State, Note: r.Note, By: r.By, AskedAt: r.AskedAt,
		Entry: r.Seq}
	if !r.EndedAt.IsZero() {
		out.EndedAt = &r.EndedAt
	}
	return out
}

// proofOf says whether a finding can be shown again.
func proofOf(f finding.Finding) string {
	if f.IsReplayable() {
		return "replayable"
	}
	return "unproven"
}
