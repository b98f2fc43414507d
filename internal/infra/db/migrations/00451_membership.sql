-- +goose Up
-- What somebody is invited to, beyond their role. The token is in the link that who invites hands on.
ALTER TABLE invitation ADD COLUMN id TEXT NOT NULL DEFAULT '';
ALTER TABLE invitation ADD COLUMN token_hash TEXT NOT NULL DEFAULT ''; -- empty: there is no link
ALTER TABLE invitation ADD COLUMN invited_by TEXT NOT NULL DEFAULT ''; -- an e-mail address
ALTER TABLE invitation ADD COLUMN restricted BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE invitation ADD COLUMN billable BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE invitation ADD COLUMN spending_cap_cents BIGINT;
CREATE UNIQUE INDEX invitation_token ON invitation (token_hash) WHERE token_hash <> '';

ALTER TABLE member ADD COLUMN billable BOOLEAN NOT NULL DEFAULT TRUE; -- FALSE: nothing of theirs is paid with the server's models
ALTER TABLE member ADD COLUMN auto_joined BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE member ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';

ALTER TABLE team ADD COLUMN auto_join BOOLEAN NOT NULL DEFAULT FALSE; -- who has an address of a verified domain joins
ALTER TABLE team ADD COLUMN max_members BIGINT;                       -- set by an operator; NULL: the plan's

-- +goose Down
ALTER TABLE team DROP COLUMN max_members;
ALTER TABLE team DROP COLUMN auto_join;
ALTER TABLE member DROP COLUMN invited_by;
ALTER TABLE member DROP COLUMN auto_joined;
ALTER TABLE member DROP COLUMN billable;
DROP INDEX invitation_token;
ALTER TABLE invitation DROP COLUMN spending_cap_cents;
ALTER TABLE invitation DROP COLUMN billable;
ALTER TABLE invitation DROP COLUMN restricted;
ALTER TABLE invitation DROP COLUMN invited_by;
ALTER TABLE invitation DROP COLUMN token_hash;
ALTER TABLE invitation DROP COLUMN id;
