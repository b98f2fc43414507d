package team

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ScanConfiguration is a configuration (specification, Scan configuration).
type ScanConfiguration struct {
	ID        string    `json:"id"`
	Config    string    `json:"config" doc:"The text, YAML in base64 or plain, as it was sent; secrets are masked."`
	Type      string    `json:"config_type" enum:"scan,reporting,template,alerting,cloudlist,subfinder"`
	Name      string    `json:"name"`
	ReadOnly  bool      `json:"read_only" doc:"Whether you cannot change it."`
	Global    bool      `json:"global"`
	Provider  string    `json:"provider_name,omitempty" doc:"Such as github or slack, where the type has providers."`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func configOf(c setting.Config) ScanConfiguration {
	return ScanConfiguration{
		ID: c.ID, Config: c.Text, Type: string(c.Type), Name: c.Name, ReadOnly: c.ReadOnly, Global: c.Global,
		Provider:  c.Provider,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

// ConfigRequest is a configuration to be made.
type ConfigRequest struct {
	Config string `json:"config"`
	Type   string `json:"config_type" enum:"scan,reporting,template,alerting,cloudlist,subfinder"`
	Name   string `json:"name" maxLength:"200"`
	Global bool   `json:"global,omitempty"`
	OAuth  string `json:"oauth_config_id,omitempty" doc:"Not supported: refused. Put the credentials into config."`
}

// ConfigPatch is what may be changed of a configuration.
type ConfigPatch struct {
	Config *string `json:"config,omitempty" doc:"YAML, plain or in base64. A masked secret stays what it was."`
	Global *bool   `json:"global,omitempty"`
	Name   *string `json:"name,omitempty" maxLength:"200"`
}

// ConfigAnswer is the answer about a changed configuration.
type ConfigAnswer struct {
	ID      string `json:"id"`
	Message string `json:"message"`
}

// VerifyRequest is a configuration to verify.
type VerifyRequest struct {
	Config string `json:"config"`
	Type   string `json:"config_type,omitempty" enum:"scan,reporting,template,alerting,cloudlist,subfinder" doc:"Default: detected from the text."`
	OAuth  string `json:"oauth_config_id,omitempty" doc:"Not supported: refused. Put the credentials into config."`
}

// noOAuth refuses a connection by OAuth: without it the configuration would have no credentials.
func noOAuth(id string) error {
	if id == "" {
		return nil
	}
	return errs.Field("oauth_config_id",
		"oauth_config_id is not supported: this server has no OAuth connections. Put the credentials into config.")
}

// InJSON says in which language the text of a configuration is.
type InJSON struct {
	JSON bool `query:"config_json" doc:"The text in config is JSON instead of YAML."`
}

// VerifyAnswer is the result of a verification (docs/adr/0022). Older clients read is_verified instead of ok.
type VerifyAnswer struct {
	OK         bool   `json:"ok" doc:"The configuration is well formed, all of it has an effect, and its credentials were tried and work."`
	IsVerified bool   `json:"is_verified" doc:"The same as ok."`
	Response   string `json:"response" doc:"Result, in words: what was tried, or what is wrong."`
}

// ConfigPath names a configuration.
type ConfigPath struct {
	ID string `path:"config_id" doc:"The configuration's id."`
}

func (s area) configs() {
	const path, tag = "/v1/scans/config", "Configurations"
	const one = path + "/{config_id}"

	rest.Handle(s.API, wire.Op("list-configs", "GET "+path, tag, "Your team's configurations, oldest first"),
		s.listConfigs)
	rest.Handle(s.API, wire.Op("create-config", "POST "+path, tag, "Create a configuration", 403),
		func(ctx context.Context, in *struct{ Body ConfigRequest }) (*ConfigAnswer, error) {
			if err := noOAuth(in.Body.OAuth); err != nil {
				return nil, err
			}
			c, err := s.Settings.Create(ctx,
				setting.NewConfig{Type: setting.Type(in.Body.Type), Name: in.Body.Name, Text: in.Body.Config,
					Global: in.Body.Global})
			return &ConfigAnswer{c.ID, "The configuration is made."}, err
		})
	rest.Handle(s.API, wire.Op("get-config", "GET "+one, tag, "One configuration", 404),
		func(ctx context.Context, in *struct {
			ConfigPath
			InJSON
		}) (*ScanConfiguration, error) {
			c, err := s.Settings.ByID(ctx, in.ID)
			if err == nil && in.JSON {
				c.Text, err = setting.ToJSON(c.Text)
			}
			return new(configOf(c)), err
		})
	rest.Handle(s.API, wire.Op("update-config", "PATCH "+one, tag, "Change a configuration", 403, 404),
		func(ctx context.Context, in *struct {
			ConfigPath
			InJSON
			Body ConfigPatch
		}) (*ConfigAnswer, error) {
			if text := in.Body.Config; text != nil && in.JSON {
				var err error
				if *text, err = setting.FromJSON(*text); err != nil {
					return nil, err
				}
			}
			c, err := s.Settings.Update(ctx, in.ID,
				setting.Update{Name: in.Body.Name, Text: in.Body.Config, Global: in.Body.Global})
			return &ConfigAnswer{c.ID, "The configuration is changed."}, err
		})
	wire.Act(s.API, wire.Op("delete-config", "DELETE "+one, tag, "Delete a configuration", 403, 404),
		"The configuration is deleted.",
		func(ctx context.Context, in *ConfigPath) error { return s.Settings.Delete(ctx, in.ID) })
	rest.Handle(s.API, wire.Op("verify-config", "POST "+path+"/verify", tag,
		"Verify a configuration: read it, and try its credentials with calls that change nothing", 403),
		func(ctx context.Context, in *struct{ Body VerifyRequest }) (*VerifyAnswer, error) {
			if err := noOAuth(in.Body.OAuth); err != nil {
				return nil, err
			}
			ok, message, err := s.Settings.Verify(ctx, setting.Type(in.Body.Type), in.Body.Config)
			return &VerifyAnswer{ok, ok, message}, err
		})
}

func (s area) listConfigs(ctx context.Context, in *struct {
	Type   string `query:"type" enum:"scan,reporting,template,alerting,cloudlist,subfinder,remediation,vuln_score" doc:"Only those of this type."`
	Search string `query:"search" maxLength:"200" doc:"Only those whose name has this in it."`
	wire.Window
}) (*[]ScanConfiguration, error) {
	found, err := s.Settings.Find(ctx, setting.Filter{Type: in.Type, Search: in.Search}, in.Page())
	return new(rest.Each(found, configOf)), err
}
