package jobs

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools"
)

// inventoryOf is the inventory as a task's tools may use it: for its owner, who could
// change things in the team when they handed the task over.
func (w worker) inventoryOf(t task.Task) tools.Inventory {
	as := func(ctx context.Context) context.Context {
		return account.WithCaller(ctx, account.Caller{UserID: t.UserID, Email: t.Owner, TeamID: t.TeamID, Role: account.Member})
	}
	return tools.Inventory{
		List: func(ctx context.Context, q asset.Query) (asset.Page, error) { return w.Assets.List(as(ctx), q) },
		Create: func(ctx context.Context, n enumeration.NewEnumeration) (enumeration.Enumeration, error) {
			return w.Enumerations.Create(as(ctx), n)
		},
		Find: func(ctx context.Context, id string) (enumeration.Enumeration, error) {
			return w.Enumerations.Find(as(ctx), id)
		},
		Stop: func(ctx context.Context, id string) error { return w.Enumerations.Stop(as(ctx), id) },
	}
}
