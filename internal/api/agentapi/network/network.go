// Package network serves the area Network Events of the agent-task API.
package network

import (
	"context"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/network"
)

// List is a page of events.
type List struct {
	Events  []network.Event `json:"events" doc:"The newest first."`
	HasMore bool            `json:"has_more"`
}

// Query picks events.
type Query struct {
	TaskID string `query:"task_id" format:"uuid" doc:"Only those of this task."`
	ScanID string `query:"scan_id" maxLength:"64" doc:"Only those of this scan."`
	Host   string `query:"host" maxLength:"300" doc:"Only those to this host and port, such as app.example.com:443."`
	Method string `query:"method" maxLength:"20" doc:"Only those with this HTTP method."`
	Tool   string `query:"tool" maxLength:"40" enum:"templates,http,webtest,replay" doc:"Only those that this sent."`
	Status int    `query:"status" minimum:"100" maximum:"599" doc:"Only those with this HTTP status."`
	Failed bool   `query:"failed" doc:"Only those without an answer."`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many to return."`
	After  string `query:"starting_after" format:"uuid" doc:"The id of the last event of the page before."`
}

// Subject names a task or a scan.
type Subject struct {
	TaskID string `query:"task_id" format:"uuid" doc:"Those of this task."`
	ScanID string `query:"scan_id" maxLength:"64" doc:"Those of this scan."`
}

// Unmasked asks for what looks like a secret.
type Unmasked struct {
	Unmasked bool `query:"unmasked" doc:"Show what looks like a secret, such as sessions of targets; not for viewers and guests. Secrets that the team keeps are masked nevertheless."`
}

// Path names an event. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"eventId" format:"uuid" doc:"The event's id."`
}

// Deleted is how many events were deleted.
type Deleted struct {
	Deleted int64 `json:"deleted" doc:"How many events there were."`
}

// PolicyPatch is the body of PATCH /api/v1/network/policy.
type PolicyPatch struct {
	Tasks         *bool            `json:"tasks,omitempty"`
	Scans         *network.OfScans `json:"scans,omitempty" enum:"off,on_request,on"`
	RetentionDays *int             `json:"retention_days,omitempty" minimum:"1" maximum:"365"`
	MaxMegabytes  *int             `json:"max_megabytes,omitempty" minimum:"1" maximum:"102400"`
}

// Area is the area with the service that it calls.
type Area struct {
	*rest.API
	Events *network.Events
}

const tag, path = "Network Events", "/api/v1/network"

const typeHAR = "application/json"

// Register adds the area's operations.
func (a Area) Register() {
	list := rest.NewOp("list-network-events", "GET "+path+"/events", tag,
		"List the HTTP requests that tasks and scans sent, newest first")
	list.Description = "Those of tasks that you see, and of your team's scans. What is captured is decided by the team's policy. Discovery, browsers " +
		"and other protocols than HTTP are not captured."
	rest.Handle(a.API, list, func(ctx context.Context, in *Query) (*List, error) {
		found, more, err := a.Events.FindAll(ctx, network.Filter(*in))
		return &List{rest.OrEmpty(found), more}, err
	})
	rest.Handle(a.API, rest.NewOp("get-network-event", "GET "+path+"/events/{eventId}", tag,
		"Get a request that was sent, and what was answered", 404),
		func(ctx context.Context, in *struct {
			Path
			Unmasked
		}) (*network.Detail, error) {
			if in.Unmasked.Unmasked {
				rest.Audit(ctx, "read-network-event-unmasked")
			}
			d, err := a.Events.Find(ctx, in.ID, in.Unmasked.Unmasked)
			return &d, err
		})
	rest.Handle(a.API, rest.NewOp("delete-network-events", "DELETE "+path+"/events", tag,
		"Delete the captured requests of a task or a scan", 404),
		func(ctx context.Context, in *Subject) (*Deleted, error) {
			n, err := a.Events.DeleteAll(ctx, in.TaskID, in.ScanID)
			return &Deleted{n}, err
		})
	rest.Handle(a.API, rest.NewOp("network-statistics", "GET "+path+"/stats", tag,
		"Count the requests that were captured, and those that were not"),
		func(ctx context.Context, in *Subject) (*network.Statistics, error) {
			s, err := a.Events.Statistics(ctx, in.TaskID, in.ScanID)
			return &s, err
		})
	har := rest.NewOp("export-network-events", "GET "+path+"/har", tag,
		"The captured requests of a task or a scan as a HAR file (HTTP Archive 1.2), oldest first")
	har.Description = "At most 50,000. Browsers, proxies and testing tools open such files. Secrets are masked."
	har.Responses = map[string]*huma.Response{"200": {
		Description: "The file. If the connection breaks, it is incomplete.",
		Content:     map[string]*huma.MediaType{typeHAR: {Schema: &huma.Schema{Type: huma.TypeObject}}},
	}}
	rest.Register(a.API, har, a.har)
	a.replays()
	a.policy()
}

func (a Area) har(ctx context.Context, in *struct {
	Subject
	Unmasked
}) (*huma.StreamResponse, error) {
	write, err := a.Events.HAR(ctx, in.TaskID, in.ScanID, in.Unmasked.Unmasked)
	if err != nil {
		return nil, err
	}
	rest.Audit(ctx, "export-network-events")
	return a.File(ctx, typeHAR, "network-events.har", func(w io.Writer) error { return write(w) }), nil
}

func (a Area) replays() {
	replay := rest.NewOp("replay-network-event", "POST "+path+"/events/{eventId}/replay", tag,
		"Send a captured request again, with edits", 404, 409)
	replay.Description = "It goes to the host and port that it went to, and only where that is in the scope of its task, or not left out by its scan; " +
		"redirects are not followed. It is sent soon after the answer: ask for the replay until its state is sent or failed."
	replay.DefaultStatus = http.StatusAccepted
	rest.Handle(a.API, replay, func(ctx context.Context, in *struct {
		Path
		Body network.Edits
	}) (*network.Replay, error) {
		r, err := a.Events.Replay(ctx, in.ID, in.Body)
		return &r, err
	})
	rest.Handle(a.API, rest.NewOp("get-network-replay", "GET "+path+"/replays/{replay_id}", tag,
		"Get the state of a replay, and the event with its answer", 404),
		func(ctx context.Context, in *struct {
			ID string `path:"replay_id" format:"uuid" doc:"The replay's id."`
		}) (*network.Replay, error) {
			r, err := a.Events.FindReplay(ctx, in.ID)
			return &r, err
		})
}

func (a Area) policy() {
	rest.Handle(a.API, rest.NewOp("get-network-policy", "GET "+path+"/policy", tag,
		"Get what of your team's requests is captured, and how long it is kept"),
		func(ctx context.Context, _ *struct{}) (*network.Policy, error) {
			p, err := a.Events.Policy(ctx)
			return &p, err
		})
	rest.Handle(a.API, rest.NewOp("update-network-policy", "PATCH "+path+"/policy", tag,
		"Change what is captured, and how long it is kept (team admins only)"),
		func(ctx context.Context, in *struct{ Body PolicyPatch }) (*network.Policy, error) {
			p, err := a.Events.SetPolicy(ctx, network.PolicyUpdate(in.Body))
			return &p, err
		})
}

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[List]():               "NetworkEventList",
			reflect.TypeFor[Deleted]():            "NetworkEventsDeleted",
			reflect.TypeFor[PolicyPatch]():        "NetworkPolicyPatch",
			reflect.TypeFor[network.Event]():      "NetworkEvent",
			reflect.TypeFor[network.Detail]():     "NetworkEventDetail",
			reflect.TypeFor[network.Statistics](): "NetworkStatistics",
			reflect.TypeFor[network.Count]():      "NetworkCount",
			reflect.TypeFor[network.Policy]():     "NetworkPolicy",
			reflect.TypeFor[network.Edits]():      "NetworkEdits",
			reflect.TypeFor[network.Mutation]():   "NetworkMutation",
			reflect.TypeFor[network.Replay]():     "NetworkReplay",
		},
		Words: rest.ParseWords(words),
	}
}

const words = `NetworkEvent: A request that a task or a scan sent, and its answer.
NetworkEvent.method: The HTTP method.
NetworkEventDetail.method: The HTTP method.
NetworkCount.value: What is counted.
NetworkCount.count: How many events have it.
NetworkReplay.state: queued: it will be sent. sent: it was, whatever was answered. failed: it was not; note says why.
NetworkReplay.asked_by: Who asked for it.
NetworkReplay.asked_at: When they did.
NetworkReplay.ended_at: When it was sent, or failed; absent: not yet.
NetworkPolicy.updated_at: When they did; absent: nobody did.
NetworkPolicyPatch.tasks: Whether requests of tasks are captured.
NetworkPolicyPatch.scans: Of which scans requests are captured.
NetworkPolicyPatch.retention_days: How long events are kept.
NetworkPolicyPatch.max_megabytes: How much is kept, compressed.`
