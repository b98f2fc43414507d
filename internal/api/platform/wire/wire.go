// Package wire has the formats that the packages of the platform API share: parts of paths and queries, list
// headers, messages and schedules.
package wire

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Op is an operation at a route, such as "GET /v1/scans".
var Op = rest.NewOp

// Window is the requested part of a list.
type Window struct {
	Limit  int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of items."`
	Offset int `query:"offset" minimum:"0" maximum:"2147483648" doc:"Items to skip."`
}

// Page is the window as services know it.
func (w Window) Page() page.Window { return page.Window{Offset: w.Offset, Limit: w.Limit} }

// Message is an answer with only a message.
type Message struct {
	Message string `json:"message"`
}

// Done is the answer OK.
func Done() *OK { return &OK{true} }

// Created is the answer of an operation that created something.
func Created(id, words string) *Made { return &Made{id, words} }

// Messagef is an answer with a message.
func Messagef(format string, args ...any) *Message { return &Message{fmt.Sprintf(format, args...)} }

// Listing heads every list of this API.
type Listing struct {
	CurrentPage  int    `json:"current_page"`
	ResultCount  int    `json:"result_count"`
	TotalResults int    `json:"total_results"`
	TotalPages   int    `json:"total_pages"`
	Message      string `json:"message"`
}

// ListOf describes a page of a list.
func ListOf(w Window, count, total int, what string) Listing {
	return Listing{w.Page().Page(), count, total, w.Page().Pages(total), what}
}

// Maybe is a boolean of the query that may be absent.
type Maybe struct {
	value bool
	given bool
}

// Schema implements huma.SchemaProvider.
func (Maybe) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeBoolean} }

// Receiver implements huma.ParamWrapper.
func (m *Maybe) Receiver() reflect.Value { return reflect.ValueOf(&m.value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (m *Maybe) OnParamSet(given bool, _ any) { m.given = given }

// Ptr is nil when the parameter was not sent.
func (m Maybe) Ptr() *bool {
	if !m.given {
		return nil
	}
	return &m.value
}

// Commas is the items of a comma-separated list, without empty ones.
func Commas(text string) (out []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// Value is what a pointer points at, or zero.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Known converts words, each of which must be one of the known ones.
func Known[T ~string](param string, words []string, known []T) (out []T, err error) {
	for _, word := range words {
		if !slices.Contains(known, T(word)) {
			return nil, errs.Field(param, "%s %.40q is not known.", param, word)
		}
		out = append(out, T(word))
	}
	return out, nil
}

// OneOf reads words separated by commas, in any case, each of which must be one of the known ones.
func OneOf[T ~string](param, text string, known []T) ([]T, error) {
	return Known(param, Commas(strings.ToLower(text)), known)
}

// Made is the id of what was made.
type Made struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

// OK says that something was done.
type OK struct {
	OK bool `json:"ok"`
}

// UpdateMode says whether an update adds or replaces.
type UpdateMode struct {
	Type string `query:"update_type" enum:"append,replace" default:"append" doc:"append changes the given fields and extends lists; replace sets everything."`
}

// ScanPath names a scan.
type ScanPath struct {
	ID string `path:"scan_id" doc:"The scan's id."`
}

// VulnPath names a finding.
type VulnPath struct {
	ID string `path:"vuln_id" doc:"The finding's id."`
}

// EnumerationPath names an enumeration or a group.
type EnumerationPath struct {
	ID string `path:"enumerate_id" doc:"The id of an enumeration or of a group."`
}

// Act adds an operation that answers with a fixed message.
func Act[I any](api *rest.API, op rest.Op, message string, act func(context.Context, *I) error) {
	rest.Handle(api, op, func(ctx context.Context, in *I) (*Message, error) { return &Message{message}, act(ctx, in) })
}

// Agent are the agents that a scan or an enumeration asks for. They have no effect.
type Agent struct {
	AgentID       string   `json:"agent_id,omitempty"`
	AgentTags     []string `json:"agent_tags"`
	AgentNetworks []string `json:"agent_networks"`
	AgentBehavior string   `json:"agent_behavior"`
}

// AgentOf never has null for a list; the behaviour is distribute when none was asked for.
func AgentOf(id string, tags, networks []string, behavior string) Agent {
	return Agent{id, rest.OrEmpty(tags), rest.OrEmpty(networks), cmp.Or(behavior, "distribute")}
}

// AgentRequest asks for agents.
type AgentRequest struct {
	AgentID       string   `json:"agent_id,omitempty" maxLength:"200"`
	AgentTags     []string `json:"agent_tags,omitempty" maxItems:"100"`
	AgentNetworks []string `json:"agent_networks,omitempty" maxItems:"100"`
	AgentBehavior string   `json:"agent_behavior,omitempty" enum:"distribute,mirror"`
}
