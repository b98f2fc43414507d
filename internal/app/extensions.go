package app

import (
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/tools"
)

// openExtensions opens the service of users' own tools.
func (a *App) openExtensions(box *seal.Box, guard *netguard.Guard) (*extension.Extensions, error) {
	reserved, err := tools.Reserved()
	if err != nil {
		return nil, err
	}
	return extension.New(a.db, box, extension.Config{Guard: guard, Secrets: a.secrets, Reserved: reserved}), nil
}
