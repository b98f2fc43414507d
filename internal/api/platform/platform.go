// Package platform is the platform surface, /v1 and /v2: what clients of the public
// scanning platform speak.
package platform

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Prefixes are where the surface is mounted.
var Prefixes = []string{"/v1/", "/v2/"}

const version = "1.0.0"

// Error is the surface's full error body (specification, Errors).
type Error struct {
	Message string `json:"message" doc:"What went wrong, in words."`
	Kind    string `json:"kind" doc:"The class of the error, such as invalid or not_found."`
	Code    string `json:"code" doc:"What went wrong, for programs; stable."`
	Error   string `json:"error" doc:"What went wrong, in words."`
	ErrorID string `json:"error_id" doc:"The id of this request in the server's log."`
	Param   string `json:"param" doc:"The field or parameter at fault; empty when there is none."`
	Status  int    `json:"status" doc:"The HTTP status."`
}

func shape(status int, e *errs.Error, id string) any {
	return Error{Message: e.Message, Kind: string(e.Kind), Code: e.Code, Error: e.Message, ErrorID: id, Param: e.Param, Status: status}
}

// Deps is what the surface speaks for.
type Deps struct {
	Accounts     *account.Accounts
	Settings     *setting.Settings
	Scans        *scan.Scans
	Exclusions   *exclusion.Exclusions
	Enumerations *enumeration.Enumerations
	Assets       *asset.Assets
	Findings     *finding.Findings
	// Ticket files a finding in the tracker of a configuration.
	Ticket  func(ctx context.Context, findingID, configID string) (finding.Ticket, error)
	Exports *export.Exports
	Catalog *catalog.Catalog
	Domains *domain.Domains
	Audit   *audit.Log
	Notices *notification.Notices
}

type surface struct {
	*rest.API
	Deps
}

// New makes the surface with all its operations.
func New(c rest.Config, servers []rest.Server, d Deps) *rest.API {
	s := surface{rest.New(rest.Surface{
		Name: "platform", Title: "Vedette platform API", Version: version, Servers: servers, Shape: shape, ErrorType: Error{},
		About: "Templates, scans, assets and findings, as programs use them. A query parameter that comes several times counts as one with commas.",
	}, c), d}
	s.keys()
	s.user()
	s.teams()
	s.members()
	s.auditLog()
	s.alertLog()
	s.configs()
	s.severities()
	s.domains()
	s.findings()
	s.tickets()
	s.exports()
	s.scans()
	s.enumerations()
	s.assets()
	s.templates()
	return s.API
}

// op is an operation of the surface; statuses are the errors it can answer besides those
// that every operation has.
func op(id, method, path, tag, summary string, statuses ...int) rest.Op {
	return rest.Op{Operation: huma.Operation{OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary, Errors: statuses}}
}

// Window is the part of a list that was asked for.
type Window struct {
	Limit  int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Items to return at most."`
	Offset int `query:"offset" minimum:"0" maximum:"2147483648" doc:"Items to skip."`
}

func (w Window) page() page.Window { return page.Window{Offset: w.Offset, Limit: w.Limit} }

// keyAnswer is the platform's answer about an API key.
type keyAnswer struct {
	Message string `json:"message" doc:"What was done, or is known, in words."`
	APIKey  string `json:"api_key" doc:"The key's value where it was just made; otherwise a mask: a key is shown once."`
}

type message struct {
	Message string `json:"message" doc:"What was done, in words."`
}

// maskedKey stands where the value of an existing key would be.
const maskedKey = "svc_sk_********************************"

func (s surface) keys() {
	const path, tag = "/v1/user/apikey", "User"
	type output struct{ Body keyAnswer }
	rest.Register(s.API, op("get-api-key", http.MethodGet, path, tag, "Whether you have an API key; its value is not shown again", 404),
		func(ctx context.Context, _ *struct{}) (*output, error) {
			_, err := s.Accounts.FindKey(ctx)
			return &output{keyAnswer{"You have an API key. Its value was shown when it was made.", maskedKey}}, err
		})
	rest.Register(s.API, op("create-api-key", http.MethodPost, path, tag, "Create your API key, or learn that you have one"),
		func(ctx context.Context, in *struct {
			Token string `header:"CF-Turnstile-Response" doc:"The answer to the challenge, where the deployment asks for one."`
		}) (*output, error) {
			if err := s.Accounts.Challenge(ctx, in.Token, ""); err != nil {
				return nil, err
			}
			key, err := s.Accounts.CreateKey(ctx)
			if errs.Is(err, errs.Conflict) {
				return &output{keyAnswer{"You have an API key. Rotate it to get a new value.", maskedKey}}, nil
			}
			return &output{keyAnswer{"The API key is made. Keep it: it is not shown again.", key.Key}}, err
		})
	rest.Register(s.API, op("rotate-api-key", http.MethodPost, path+"/rotate", tag, "Give your API key a new value; the old one is void at once", 404),
		func(ctx context.Context, _ *struct{}) (*output, error) {
			key, err := s.Accounts.RotateKey(ctx)
			return &output{keyAnswer{"The API key has a new value. Keep it: it is not shown again.", key.Key}}, err
		})
	rest.Register(s.API, op("delete-api-key", http.MethodDelete, path, tag, "Delete your API key; it is void at once", 404),
		func(ctx context.Context, _ *struct{}) (*struct{ Body message }, error) {
			return &struct{ Body message }{message{"The API key is deleted."}}, s.Accounts.DeleteKey(ctx)
		})
}
