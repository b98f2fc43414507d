// Package issues has the operations of the agent-task API on issues, the findings of a team seen through its tasks.
package issues

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/issue"
	"github.com/vedette-sec/vedette/internal/core/task"
)

const (
	path = "/api/v1/issues"
	tag  = "Issues"
)

type area struct {
	*rest.API

	tasks   *task.Tasks
	issues  *issue.Issues
	exports *export.Exports
}

// Register adds the operations to the API.
func Register(api *rest.API, tasks *task.Tasks, issues *issue.Issues, exports *export.Exports) {
	s := area{api, tasks, issues, exports}
	s.lists()
	s.one()
	s.creation()
	s.comments()
	s.export()
}

// List is a page of issues.
type List struct {
	Issues     []task.Issue `json:"issues" doc:"The page."`
	Total      int          `json:"total"`
	HasMore    bool         `json:"has_more"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// Patch is what may be changed of an issue.
type Patch struct {
	Status      *task.IssueStatus `json:"status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"What was decided, for the finding as for the issue; false_positive and duplicate take it out of artifacts."`
	Severity    *string           `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"For the finding as for the issue."`
	Assignee    *string           `json:"assignee,omitempty" maxLength:"254" doc:"The address of a member, who is told; empty: nobody."`
	Title       *string           `json:"title,omitempty" minLength:"1" maxLength:"500"`
	Description *string           `json:"description,omitempty" maxLength:"20000"`
	Remediation *string           `json:"remediation,omitempty" maxLength:"20000"`
}

// Query picks issues.
type Query struct {
	TaskID     string `query:"task_id" format:"uuid" doc:"Only those of this task."`
	Status     string `query:"status" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"Only those with this decision."`
	Severity   string `query:"severity" enum:"critical,high,medium,low,info,unknown" doc:"Only those of this severity."`
	Source     string `query:"source" enum:"task,person" doc:"Only those that tasks found, or that people reported."`
	Assignee   string `query:"assignee" maxLength:"254" doc:"Only those of this member; none: those of nobody."`
	Search     string `query:"search" maxLength:"200" doc:"A part of the title, the target or the template's id, in any case."`
	VulnID     string `query:"vuln_id" maxLength:"100" doc:"Only those that are this finding."`
	Since      string `query:"start_date" format:"date-time" doc:"Only those found since then."`
	Until      string `query:"end_date" format:"date-time" doc:"Only those found before then."`
	Sightings  bool   `query:"sightings" doc:"Each issue of each task; else each weakness once, by the issue that came first. With task_id or vuln_id always."`
	Unverified bool   `query:"unverified" doc:"Also what was seen once and could not be confirmed."`
}

func (q Query) filter() issue.Filter {
	at := func(text string) time.Time {
		t, _ := time.Parse(time.RFC3339, text) // the contract has its format
		return t
	}
	return issue.Filter{
		IssueFilter: task.IssueFilter{TaskID: q.TaskID, Status: task.IssueStatus(q.Status), Severity: q.Severity,
			Unverified: q.Unverified},
		Source: q.Source, Assignee: q.Assignee, Search: q.Search, VulnID: q.VulnID, Sightings: q.Sightings,
		Since: at(q.Since), Until: at(q.Until),
	}
}

// Path names an issue.
type Path struct {
	ID string `path:"id" doc:"The issue's id."`
}

func body[T any](v T, err error) (*T, error) { return &v, err }

var op = rest.NewOp

func (s area) lists() {
	list := op("list-issues", "GET "+path, tag, "List your team's issues, newest first")
	list.Description = "Those that tasks found and a second request confirmed, and those that people reported. Their status and severity are those of the finding."
	rest.Handle(s.API, list, func(ctx context.Context, in *struct {
		Query
		PerPage int    `query:"per_page" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
		Cursor  string `query:"cursor" format:"uuid" doc:"next_cursor of the page before."`
	}) (*List, error) {
		f := in.filter()
		f.After, f.Limit = in.Cursor, in.PerPage+1
		found, total, err := s.issues.Find(ctx, f)
		if err != nil {
			return nil, err
		}
		out := List{Issues: found, Total: total}
		if len(found) > in.PerPage {
			out.Issues, out.HasMore, out.NextCursor = found[:in.PerPage], true, found[in.PerPage-1].ID
		}
		return &out, nil
	})
	rest.Handle(s.API, op("count-issues", "GET "+path+"/statistics", tag, "Count your team's issues"),
		func(ctx context.Context, in *Query) (*issue.Statistics, error) {
			return body(s.issues.Statistics(ctx, in.filter()))
		})
}

// Timeline is the life of an issue.
type Timeline struct {
	Events []issue.Event `json:"events" doc:"The oldest first."`
}

// Assets are the places of an issue.
type Assets struct {
	Assets []issue.Asset `json:"assets" doc:"In the order in which the weakness was seen there."`
}

func (s area) one() {
	rest.Handle(s.API, op("get-issue", "GET "+path+"/{id}", tag, "Get an issue of your team", 404),
		func(ctx context.Context, in *Path) (*task.Issue, error) { return body(s.tasks.FindIssue(ctx, in.ID)) })

	retest := op("retest-issue", "POST "+path+"/{id}/retest", tag, "Retest an issue with the template that found it", 404,
		409)
	retest.DefaultStatus = http.StatusAccepted
	retest.Description = "It uses no language model. An issue that is not found any more becomes fixed; a fixed one that is found again becomes open. The issue's `retest` has the progress."
	rest.Handle(s.API, retest, func(ctx context.Context, in *Path) (*task.Issue, error) {
		return body(s.tasks.QueueRetest(ctx, in.ID))
	})

	update := op("update-issue", "PATCH "+path+"/{id}", tag, "Change an issue; a refreshed artifact shows it", 404, 409)
	update.Description = "Status and severity are those of the weakness: all its sightings have them, in tasks and in scans."
	rest.Handle(s.API, update, func(ctx context.Context, in *struct {
		Path
		Body Patch
	}) (*task.Issue, error) {
		p := in.Body
		return body(s.issues.Update(ctx, in.ID, task.IssueUpdate{Status: p.Status, Severity: p.Severity, Title: p.Title,
			Description: p.Description, Remediation: p.Remediation}, p.Assignee))
	})

	rest.Handle(s.API, op("get-issue-timeline", "GET "+path+"/{id}/timeline", tag,
		"What happened to an issue and to the finding that it is, the oldest first", 404),
		func(ctx context.Context, in *Path) (*Timeline, error) {
			events, err := s.issues.Timeline(ctx, in.ID)
			return &Timeline{events}, err
		})
	rest.Handle(s.API, op("list-issue-assets", "GET "+path+"/{id}/assets", tag,
		"The places where the weakness of an issue was seen, with the assets of the inventory there", 404),
		func(ctx context.Context, in *Path) (*Assets, error) {
			found, err := s.issues.Assets(ctx, in.ID)
			return &Assets{found}, err
		})
}

// Request reports an issue.
type Request struct {
	TaskID      string            `json:"task_id,omitempty" format:"uuid" doc:"The task that it belongs to; without one it belongs to your team."`
	Title       string            `json:"title" minLength:"1" maxLength:"500"`
	Severity    string            `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown"`
	Status      *task.IssueStatus `json:"status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged"`
	Target      string            `json:"target" minLength:"1" maxLength:"2000" doc:"Where it is: a URL, a host, or host:port."`
	MatchedAt   string            `json:"matched_at,omitempty" maxLength:"2000" doc:"The URL that shows it; else the target."`
	Description string            `json:"description,omitempty" maxLength:"20000"`
	Remediation string            `json:"remediation,omitempty" maxLength:"20000"`
	TemplateID  string            `json:"template_id,omitempty" maxLength:"200" doc:"The check that found it, if one did: then it is the same finding as what that check sees there."`
	CVE         []string          `json:"cve,omitempty" maxItems:"20" doc:"Such as CVE-2021-44228."`
	CWE         []string          `json:"cwe,omitempty" maxItems:"20" doc:"Such as CWE-79."`
	Tags        []string          `json:"tags,omitempty" maxItems:"50"`
	Evidence    *Evidence         `json:"evidence,omitempty" doc:"What shows it."`
}

// Evidence is a request and its response.
type Evidence struct {
	Request  string `json:"request,omitempty" maxLength:"65536"`
	Response string `json:"response,omitempty" maxLength:"65536"`
}

func (r Request) report() issue.Report {
	out := issue.Report{
		TaskID: r.TaskID, Title: r.Title, Severity: r.Severity, Target: r.Target, MatchedAt: r.MatchedAt,
		Description: r.Description, Remediation: r.Remediation, TemplateID: r.TemplateID, CVE: r.CVE, CWE: r.CWE,
		Tags: r.Tags,
	}
	if r.Status != nil {
		out.Status = finding.Status(*r.Status)
	}
	if r.Evidence != nil {
		out.Request, out.Response = r.Evidence.Request, r.Evidence.Response
	}
	return out
}

// Bulk reports several issues.
type Bulk struct {
	Issues []Request `json:"issues" minItems:"1" maxItems:"100" doc:"All are stored, or none."`
}

// BulkResult is what became of them.
type BulkResult struct {
	Issues  []task.Issue `json:"issues" doc:"In the order of the request."`
	Created int          `json:"created" doc:"How many were new."`
	Known   int          `json:"known" doc:"How many were reported before, by the same title at the same place in the same task; they are as they were."`
}

func (s area) creation() {
	create := op("create-issue", "POST "+path, tag, "Report an issue", 404)
	create.DefaultStatus = http.StatusCreated
	create.Description = "It is a finding of your team at once, unless it belongs to a private task. The same title at the same target in the same task is the same issue: it is answered as it is."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body Request }) (*task.Issue, error) {
		made, err := s.issues.Create(ctx, []issue.Report{in.Body.report()}, func(int) string { return "" })
		if err != nil {
			return nil, err
		}
		return &made[0].Issue, nil
	})
	bulk := op("create-issues", "POST "+path+"/bulk", tag, "Report several issues, all or none", 404)
	bulk.DefaultStatus = http.StatusCreated
	rest.Handle(s.API, bulk, func(ctx context.Context, in *struct{ Body Bulk }) (*BulkResult, error) {
		reports := rest.Each(in.Body.Issues, Request.report)
		made, err := s.issues.Create(ctx, reports, func(i int) string { return fmt.Sprintf("issues[%d].", i) })
		if err != nil {
			return nil, err
		}
		out := BulkResult{Issues: []task.Issue{}}
		for _, one := range made {
			out.Issues = append(out.Issues, one.Issue)
			if one.IsKnown {
				out.Known++
			} else {
				out.Created++
			}
		}
		return &out, nil
	})
}

func (s area) export() {
	get := op("export-issues", "GET "+path+"/export", tag, "Your team's issues as a file")
	get.Description = "The findings that the issues are, at most 10,000. Issues of private tasks are only in the file of their task (task_id), for its owner."
	get.Responses = map[string]*huma.Response{"200": {
		Description: "The file. If the connection breaks, it is incomplete.", Content: map[string]*huma.MediaType{},
	}}
	for _, f := range export.OfFinding {
		get.Responses["200"].Content[f.ContentType()] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	rest.Register(s.API, get, func(ctx context.Context, in *struct {
		Query
		Format string `query:"type" enum:"json,csv,pdf,docx,html,sarif,cyclonedx,csaf,openvex,defectdojo,ocsf" default:"json" doc:"The kind of file."`
		Mask   string `query:"mask" enum:"secrets,none" default:"secrets" doc:"secrets: passwords, sessions, tokens and keys are masked. none: they are shown, for members and admins; the audit log says so."`
	}) (*huma.StreamResponse, error) {
		r := export.Request{Format: export.Format(in.Format), Name: "Issues", Unmasked: in.Mask == "none"}
		var err error
		if r.Filter, err = s.issues.Exported(ctx, in.filter()); err != nil {
			return nil, err
		}
		if r.Unmasked {
			rest.Audit(ctx, "export-unmasked")
		}
		file, err := s.exports.Open(ctx, r)
		if err != nil {
			return nil, err
		}
		return s.File(ctx, r.Format.ContentType(), file.FileName,
			func(w io.Writer) error { return file.Write(ctx, w, nil) }), nil
	})
}
