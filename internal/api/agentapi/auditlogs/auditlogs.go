// Package auditlogs serves the area Audit Logs of the agent-task API.
package auditlogs

import (
	"context"
	"io"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/auditfile"
)

// Entry is one request that asked for a change.
type Entry struct {
	ID        string    `json:"id" doc:"The id of the request, as in X-Request-Id."`
	Seq       int64     `json:"sequence" doc:"Its place in the team's chain: 1, 2, 3, …"`
	CreatedAt time.Time `json:"created_at" doc:"When it was answered."`
	UserID    string    `json:"user_id"`
	Email     string    `json:"email" doc:"As it was then."`
	Action    string    `json:"action" doc:"The operation's id, such as create-task."`
	ObjectID  string    `json:"object_id" doc:"Id of the object; empty for none or several."`
	Status    int       `json:"status" doc:"The HTTP status of the answer."`
	Method    string    `json:"method" doc:"The HTTP method."`
	Path      string    `json:"path" doc:"The path, without the query."`
	IP        string    `json:"ip"`
	Source    string    `json:"source" enum:"api,platform,unknown" doc:"api: by an API key; platform: by a bearer token."`
	Hash      string    `json:"hash" doc:"Of the entry and of all before it: SHA-256, in hexadecimal digits."`
	PrevHash  *string   `json:"prev_hash,omitempty" doc:"The hash of the entry before; empty for the first. Not in lists."`
}

// List is a page of the log.
type List struct {
	Events  []Entry `json:"events" doc:"The newest first."`
	HasMore bool    `json:"has_more"`
}

// Query picks entries.
type Query struct {
	Email  string    `query:"email" maxLength:"254" doc:"Only those of this address."`
	Action string    `query:"action" maxLength:"200" doc:"Only those of this operation, by its id, such as create-task."`
	Source string    `query:"source" enum:"api,platform,unknown" doc:"Only those by an API key (api) or by a bearer token (platform)."`
	Object string    `query:"object_id" maxLength:"200" doc:"Only those about this object."`
	Method string    `query:"method" enum:"GET,POST,PUT,PATCH,DELETE" doc:"Only those with this HTTP method."`
	Status int       `query:"status" minimum:"100" maximum:"599" doc:"Only those with this HTTP status."`
	Search string    `query:"search" maxLength:"200" doc:"A status, a source, an IP address, an e-mail address or a part of one, an HTTP method or a path; anything else is searched in paths, operations and objects."`
	From   time.Time `query:"from" doc:"Only those from then on."`
	To     time.Time `query:"to" doc:"Only those before then."`
	Limit  int       `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many to return."`
	After  int64     `query:"starting_after" minimum:"0" doc:"The sequence of the last entry of the page before."`
}

// Verification is what was found in the chain.
type Verification struct {
	Valid         bool                `json:"valid" doc:"Whether everything that was read is as it was written."`
	Entries       int                 `json:"entries" doc:"How many were read, at most 100,000."`
	FirstSequence int64               `json:"first_sequence" doc:"Of the first one that was read; 0: there is none."`
	LastSequence  int64               `json:"last_sequence" doc:"Of the last one that was read; 0: there is none."`
	LastHash      string              `json:"last_hash" doc:"Its hash. Note it, with last_sequence, for a later verification."`
	Next          *int64              `json:"next_starting_after" doc:"Where to go on; null: the whole chain was read."`
	ProblemCount  int                 `json:"problem_count"`
	Problems      []auditfile.Problem `json:"problems" doc:"What is not as it was written, at most 100."`
}

// Path names an entry. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"audit_log_id" format:"uuid" doc:"The entry's id."`
}

// Area is the area with the service that it calls.
type Area struct {
	*rest.API
	Log *audit.Log
}

// Register adds the area's operations.
func (a Area) Register() {
	const path, tag = "/api/v1/audit-logs", "Audit Logs"
	list := rest.NewOp("list-audit-logs", "GET "+path, tag, "List your team's audit log, newest first (not for guests)")
	list.Description = "Each request of a member that asked for a change has an entry, also a failed one; only requests over the rate limit " +
		"have none. Entries contain neither bodies nor queries."
	rest.Handle(a.API, list, a.list)
	rest.Handle(a.API, rest.NewOp("get-audit-log", "GET "+path+"/{audit_log_id}", tag,
		"Get an entry of the audit log, with its place in the chain (not for guests)", 404),
		func(ctx context.Context, in *Path) (*Entry, error) {
			found, prev, err := a.Log.One(ctx, in.ID)
			doc := entry(found)
			doc.PrevHash = &prev
			return &doc, err
		})
	verify := rest.NewOp("verify-audit-logs", "GET "+path+"/verify", tag,
		"Verify that nobody changed, removed, added or reordered entries (not for guests)")
	verify.Description = "The hash of each entry covers the one before. With sequence and hash, which an earlier verification or export gave, " +
		"a log that was written anew as a whole is found too. Entries older than the server's retention are removed, and not missed."
	rest.Handle(a.API, verify, a.verify)
	export := rest.NewOp("export-audit-logs", "GET "+path+"/export", tag,
		"The audit log as a file that can be verified without a server, oldest first (not for guests)")
	export.Description = "vedette audit verify FILE verifies it. The audit log says who exported it."
	export.Responses = map[string]*huma.Response{"200": {
		Description: "The file. If the connection breaks, it is incomplete.", Content: map[string]*huma.MediaType{
			typeJSONL: {Schema: &huma.Schema{Type: huma.TypeString}}, typeCSV: {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}}
	rest.Register(a.API, export, a.export)
}

const (
	typeJSONL = "application/x-ndjson"
	typeCSV   = "text/csv"
)

func entry(e audit.Entry) Entry {
	return Entry{
		ID: e.ID, Seq: e.Seq, CreatedAt: e.CreatedAt, UserID: e.UserID, Email: e.Email, Action: e.Action, ObjectID: e.Object,
		Status: e.Status, Method: e.Method, Path: e.Path, IP: e.IP, Source: string(e.Source), Hash: e.Hash,
	}
}

func (a Area) list(ctx context.Context, in *Query) (*List, error) {
	found, err := a.Log.List(ctx, audit.Filter{
		Email: in.Email, Action: in.Action, Source: audit.Source(in.Source), Object: in.Object, Method: in.Method,
		Status: in.Status, Since: in.From, Until: in.To, Word: in.Search,
	}, in.After, in.Limit+1)
	more := len(found) > in.Limit
	if more {
		found = found[:in.Limit]
	}
	return &List{rest.Each(found, entry), more}, err
}

func (a Area) verify(ctx context.Context, in *struct {
	After    int64  `query:"starting_after" minimum:"0" doc:"Begin after the entry with this sequence; absent: at the oldest one."`
	Sequence int64  `query:"sequence" minimum:"1" doc:"The sequence of an entry that you noted earlier."`
	Hash     string `query:"hash" maxLength:"64" doc:"Its hash, as it was then."`
}) (*Verification, error) {
	v, err := a.Log.Verify(ctx, in.After, audit.Earlier{Seq: in.Sequence, Hash: in.Hash})
	out := Verification{
		Valid: v.IsIntact(), Entries: v.Entries, FirstSequence: v.FirstSeq, LastSequence: v.LastSeq, LastHash: v.LastHash,
		ProblemCount: v.Count, Problems: append([]auditfile.Problem{}, v.Problems...),
	}
	if v.Next > 0 {
		out.Next = &v.Next
	}
	return &out, err
}

func (a Area) export(ctx context.Context, in *struct {
	Format string `query:"format" enum:"jsonl,csv" default:"jsonl" doc:"jsonl: a line of JSON for each entry. csv: a row for each."`
	After  int64  `query:"starting_after" minimum:"0" doc:"Begin after the entry with this sequence; absent: at the oldest one."`
}) (*huma.StreamResponse, error) {
	write, err := a.Log.Export(ctx, in.Format, in.After)
	if err != nil {
		return nil, err
	}
	rest.Audit(ctx, "export-audit-logs")
	kind := typeJSONL
	if in.Format == auditfile.CSV {
		kind = typeCSV
	}
	return a.File(ctx, kind, "audit-log."+in.Format, func(w io.Writer) error { return write(w) }), nil
}

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[Entry]():             "AuditLog",
			reflect.TypeFor[List]():              "AuditLogList",
			reflect.TypeFor[Verification]():      "AuditLogVerification",
			reflect.TypeFor[auditfile.Problem](): "AuditLogProblem",
		},
		Words: rest.ParseWords(words),
	}
}

const words = `AuditLog.ip: Where the request came from.
AuditLog.user_id: Who sent it.
AuditLogVerification.problem_count: How many problems there are; more than 100 are only counted.
AuditLogProblem: Something that is not as it was written.
AuditLogProblem.line: Of a file; absent here.
AuditLogProblem.seq: The sequence of the entry; absent: it is about the chain.
AuditLogProblem.id: The id of the entry.
AuditLogProblem.problem: What is wrong, in words.`
