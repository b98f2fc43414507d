package app

import (
	"github.com/vedette-sec/vedette/internal/extension"
	"github.com/vedette-sec/vedette/internal/netguard"
	"github.com/vedette-sec/vedette/internal/seal"
	"github.com/vedette-sec/vedette/internal/toolbox"
)

// openExtensions opens the room of the tools that people bring.
func (a *App) openExtensions(box *seal.Box, guard *netguard.Guard) (*extension.Extensions, error) {
	reserved, err := toolbox.Reserved()
	if err != nil {
		return nil, err
	}
	return extension.New(a.db, box, extension.Config{Guard: guard, Secrets: a.secrets, Reserved: reserved}), nil
}
