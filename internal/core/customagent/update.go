package customagent

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Update has the sent fields of an agent: nil leaves one.
type Update struct {
	Name          *string
	Description   *string
	WhenToUse     *string
	SystemContext *string
	Tags          *[]string
	NativeTools   *[]string
	Skills        *[]string
	Shared        *bool

	CustomTools *[]Tool
	Prereqs     *[]string
	Install     *[]string
	Verify      *[]string
	Env         *[]string
}

func (up Update) apply(a *Agent) {
	for to, sent := range map[*string]*string{
		&a.Name: up.Name, &a.Description: up.Description, &a.WhenToUse: up.WhenToUse, &a.SystemContext: up.SystemContext,
	} {
		if sent != nil {
			*to = strings.TrimSpace(db.Clean(*sent))
		}
	}
	for to, sent := range map[*[]string]*[]string{&a.Tags: up.Tags, &a.NativeTools: up.NativeTools, &a.Skills: up.Skills} {
		if sent != nil {
			*to = *sent
		}
		if *to == nil {
			*to = []string{}
		}
	}
	for to, sent := range map[*[]string]*[]string{
		&a.Prereqs: up.Prereqs, &a.Install: up.Install, &a.Verify: up.Verify, &a.Env: up.Env,
	} {
		if sent != nil {
			*to = *sent
		}
	}
	if up.CustomTools != nil {
		a.CustomTools = *up.CustomTools
	}
	if up.Shared != nil {
		a.Shared = *up.Shared
	}
}
