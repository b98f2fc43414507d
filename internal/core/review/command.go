package review

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/forge"
)

// ObeyArgs are the arguments of the job that obeys a command in a comment, or looks at a change of which a webhook of
// GitLab's said that something has happened.
type ObeyArgs struct {
	Repo    string `json:"repo"`
	Pull    int    `json:"pull"`
	Comment int64  `json:"comment"`
	Login   string `json:"login"` // who wrote it, by what the forge's webhook calls them
	Command string `json:"command"`
	Cause   string `json:"cause,omitempty"` // of sayLook
}

// Kind implements queue.Args. It is that of jobs from when GitHub alone was reviewed.
func (ObeyArgs) Kind() string { return "github.command" }

const help = "Vedette reads the lines that a change adds.\n\n" +
	"- `/vedette review` reviews the present commit, again if need be.\n- `/vedette help` writes this.\n"

// Obey obeys a command, if it is by somebody with write access. Others get no answer.
func (rs *Reviews) Obey(ctx context.Context, job queue.Job[ObeyArgs]) error {
	a := job.Args
	r, err := scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.id = ?`, a.Repo))
	if db.IsNoRows(err) || err == nil && r.status != Active {
		return nil // it was disconnected
	}
	if err != nil {
		return err
	}
	err = rs.obey(ctx, r, a, func() error {
		return rs.db.Tx(ctx, func(tx *db.Tx) error { return job.CheckLease(ctx, tx) })
	})
	if noted := rs.note(ctx, r, err); noted != nil {
		return noted
	}
	if _, retry := apiclient.RetryAfter(err); !retry {
		return nil // it is noted, and would fail again
	}
	return err
}

func (rs *Reviews) obey(ctx context.Context, r Repository, a ObeyArgs, held func() error) error {
	hub, err := rs.open(ctx, r)
	if err != nil {
		return err
	}
	if a.Command == sayLook {
		return rs.look(ctx, hub, r, a)
	}
	if may, err := hub.MayWrite(ctx, a.Login); err != nil || !may {
		return err
	}
	if a.Command == sayHelp {
		mark := fmt.Sprintf("<!-- vedette:help:%d -->", a.Comment)
		id, err := hub.FindComment(ctx, a.Pull, mark)
		if err == nil && id == 0 {
			err = held()
		}
		if err != nil || id != 0 {
			return err
		}
		_, err = hub.Comment(ctx, a.Pull, help+mark)
		return err
	}
	pull, err := hub.Change(ctx, a.Pull)
	if err != nil || !pull.Open {
		return err
	}
	return rs.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := rs.begin(ctx, tx, r, pull, command)
		return err
	})
}

// look has a change reviewed, if it is one that is reviewed by itself: GitLab's webhooks do not say whose it is.
func (rs *Reviews) look(ctx context.Context, hub forge.Repo, r Repository, a ObeyArgs) error {
	pull, err := hub.Change(ctx, a.Pull)
	if err != nil || !pull.Open || !r.Effective().automatic(pull) {
		return err
	}
	return rs.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := rs.begin(ctx, tx, r, pull, a.Cause)
		return err
	})
}

// open is a repository at its forge.
func (rs *Reviews) open(ctx context.Context, r Repository) (forge.Repo, error) {
	if r.Forge == GitLab {
		account, err := rs.accountOf(ctx, r.Connection)
		return account.Repo(r.repoID), err
	}
	if rs.App == nil {
		return nil, ErrNotConfigured
	}
	return rs.App.Repo(r.InstallationID, r.FullName), nil
}
