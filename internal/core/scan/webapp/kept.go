package webapp

import (
	"encoding/json"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Kept is options as they are stored with a scan.
type Kept struct {
	Shown  Options `json:"shown"`
	Sealed []byte  `json:"sealed"`
}

// Box seals texts of a team.
type Box interface {
	Seal(teamID, what string, text []byte) ([]byte, error)
	Open(teamID, what string, sealed []byte) ([]byte, error)
}

// Change checks and seals the options of a scan: those that are given, or (nil) those that it has; empty ones take them
// away. before and targets are the targets that the scan had and has, isInventory says that assets are targets besides.
// Invalid names the field, also where secrets of one application would go to another.
func Change(
	box Box, teamID string, has *Kept, given *Options, before, targets []string, isInventory bool,
) (*Kept, error) {
	old, err := has.Open(box, teamID)
	if err != nil {
		return nil, err
	}
	isMoved := !slices.EqualFunc(before, targets, func(a, b string) bool {
		one, other := parse(a), parse(b)
		return one.Scheme == other.Scheme && one.Host == other.Host
	})
	if given == nil {
		if has != nil && isMoved && old.isSecret() {
			return nil, errs.Field("web_options",
				"web_options: they have secrets of another target: enter them again, or {} to take them away.")
		}
		return has, old.checkTargets(targets, isInventory)
	}
	if given.isEmpty() {
		return nil, nil //nolint:nilnil // there are none
	}
	if isMoved {
		old = Options{}
	}
	if err := given.keep(old); err != nil {
		return nil, err
	}
	if err := given.check(); err != nil {
		return nil, err
	}
	if err := given.checkTargets(targets, isInventory); err != nil {
		return nil, err
	}
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	sealed, err := box.Seal(teamID, field, text)
	return &Kept{given.show(), sealed}, err
}

// Open is the options with their secrets; none for nil.
func (k *Kept) Open(box Box, teamID string) (o Options, err error) {
	if k == nil {
		return o, nil
	}
	text, err := box.Open(teamID, field, k.Sealed)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(text, &o)
}

func (o Options) isEmpty() bool {
	return o.Level == "" && len(o.Users) == 0 && o.OAuth == nil && len(o.Descriptions) == 0 && o.MaxRequests == 0 &&
		o.MaxMinutes == 0
}

func (o *Options) isSecret() bool {
	return slices.ContainsFunc(o.secrets(), func(text *string) bool { return *text != "" })
}
