// Package connections serves the operations about Slack and GitHub. Those that need an app of the operator's are
// refused by name on a server without one, so that a caller can tell that from a wrong path.
package connections

import (
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/review"
)

// Area is the area.
type Area struct {
	*rest.API
	Reviews *review.Reviews
	Chats   *chat.Chats
}

const (
	slack  = "/api/v1/slack"
	github = "/api/v1/github"
)

// Register adds the operations.
func (a Area) Register() {
	a.slack()
	a.installations()
	a.repositories()
	a.reviews()
}
