package enumeration

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover/probe/port"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// checkSettings refuses invalid ports and configurations that the team does not have. The error names the field.
func (es *Enumerations) checkSettings(ctx context.Context, teamID string, c Config) error {
	if c.Ports != "" {
		if _, err := port.Parse(c.Ports); err != nil {
			return errs.New(errs.Invalid, "invalid_enumeration_ports", "%s", errs.From(err).Message).At("enumeration_ports")
		}
	}
	for _, named := range []struct {
		kind  setting.Type
		ids   []string
		param string
	}{
		{setting.Cloudlist, c.CloudConfigIDs, "cloudlist_config_ids"},
		{setting.Subfinder, c.SubfinderConfigIDs, "subfinder_config_ids"},
		{setting.Alerting, c.AlertConfigIDs, "alerting_config_ids"},
	} {
		if _, err := es.settings.Apply(ctx, nil, teamID, named.kind, named.ids, false, named.param); err != nil {
			return err
		}
	}
	return nil
}
