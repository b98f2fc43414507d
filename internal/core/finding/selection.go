package finding

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Selection is the findings that a filter picked at one moment, the newest first.
type Selection struct {
	fs     *Findings
	teamID string
	picked []uint32 // their numbers: of a million, 4 MB
	brief  bool     // Encode leaves the exchange out
}

// Select picks findings of the caller's team as FindAll does.
func (fs *Findings) Select(ctx context.Context, f Filter) (*Selection, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	s := &Selection{fs: fs, teamID: c.TeamID}
	if len(f.IDs) == 0 {
		f.IDs = nil
	}
	query, err := fs.query(ctx, fs.db, c.TeamID, f, nil, page.Window{})
	if err != nil {
		return nil, err
	}
	err = findings.Each(ctx, fs.db, c.TeamID, query, func(part []int64) error {
		for _, no := range part {
			s.picked = append(s.picked, uint32(no)) // they are below 1<<32
		}
		return nil
	})
	return s, err
}

// Len is how many findings there are, unless some are deleted meanwhile.
func (s *Selection) Len() int { return len(s.picked) }

// First is the first n findings of it.
func (s *Selection) First(n int) *Selection {
	first := *s
	first.picked = s.picked[:min(n, len(s.picked))]
	return &first
}

// Brief is the same findings, whose documents have no Request, Response and TemplateEncoded:
// half of what is stored of most, which who does not show it need not read.
func (s *Selection) Brief() *Selection {
	brief := *s
	brief.brief = true
	return &brief
}
