// Package asset is the inventory: what each run of an enumeration saw, its labels and groups, and
// what changed.
//
// Enumeration, host, port and protocol identify an asset: seen again, it is the same row. Earlier
// versions of a row are kept, so that lists work as of any date. Package list answers lists; type
// meaning translates a Filter for it, for lists and for policies alike.
package asset

import (
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Asset is one row of the inventory.
type Asset struct {
	ID             int64
	EnumerationID  string
	Enumeration    string // its name
	SourceType     string // what the enumeration looks at, as discovery or cloud
	Hash           string // 32 hex digits of host, port and protocol: the same in every enumeration
	Labels         []string
	IsNew          bool // the latest run of the enumeration saw it first
	IsMissing      bool // a later run that looked at everything did not see it
	IsInternal     bool // its address is not of the public internet
	CreatedAt      time.Time
	UpdatedAt      time.Time // when it became as it is
	SeenAt         time.Time
	HasScreenshot  bool
	discover.Asset // what was observed

	no int64
}

// Brief identifies an asset, with a few fields for messages.
type Brief struct {
	ID            int64    `json:"id"`
	EnumerationID string   `json:"enumeration_id"`
	Host          string   `json:"host"`
	Port          int      `json:"port,omitempty"`
	Protocol      string   `json:"protocol,omitempty"`
	URL           string   `json:"url,omitempty"`
	Title         string   `json:"title,omitempty"`
	Technologies  []string `json:"technologies,omitempty"`
}

// Assets is the service of the inventory.
type Assets struct {
	db    *db.DB
	queue *queue.Queue // nil: nothing is done in the background
	blobs *blob.Store  // nil: screenshots are not kept
	now   func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, blobs *blob.Store) *Assets {
	return &Assets{d, q, blobs, time.Now}
}

// An id is the team's number and the asset's number within the team. It is below 2^53, which
// JavaScript can represent.
const noBits = 32

// IDOf is the id of an asset, from its team's number and its own.
func IDOf(teamNo, no int64) int64 { return teamNo<<noBits | no }

// NumberOf is the number of an asset within its team.
func NumberOf(id int64) int64 { return id & (1<<noBits - 1) }

func noOf(id int64) (teamNo, no int64) { return id >> noBits, id & (1<<noBits - 1) }

// marks are the placeholders of a statement for n values.
func marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// CheckName trims the name of a group or a policy, or refuses it.
func CheckName(name string) (string, error) {
	name = strings.TrimSpace(db.Clean(name))
	if len([]rune(name)) > maxName {
		return "", errs.Field("name", "name must have at most %d characters.", maxName)
	}
	return name, nil
}

const maxName = 200
