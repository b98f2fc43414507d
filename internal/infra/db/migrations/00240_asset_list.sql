-- +goose Up
-- Lists of assets come from package list; rows from before are brought in at the start.
$LIST(asset)

-- Enumerations whose rows are still being deleted: no list shows them.
CREATE TABLE asset_deleted (
	team_id        TEXT NOT NULL,
	enumeration_id TEXT NOT NULL,
	PRIMARY KEY (team_id, enumeration_id)
);
INSERT INTO asset_deleted SELECT DISTINCT team_id, enumeration_id FROM asset a
	WHERE NOT EXISTS (SELECT 1 FROM asset_enumeration e WHERE e.id = a.enumeration_id);
DROP TABLE asset_gone;
DROP INDEX asset_rev;

-- The first address as text that sorts as its number does.
ALTER TABLE asset ADD COLUMN ip_order TEXT NOT NULL DEFAULT '';
ALTER TABLE asset_past ADD COLUMN ip_order TEXT NOT NULL DEFAULT '';

CREATE INDEX asset_past_ip ON asset_past (ip) WHERE ip_order = ''; -- rows from before

-- The orders of lists: of equal values the newest comes first.
CREATE INDEX asset_by_created ON asset (team_id, created_at, no DESC);
CREATE INDEX asset_by_since ON asset (team_id, since, no DESC);
CREATE INDEX asset_by_seen ON asset (team_id, seen_at, no DESC);
CREATE INDEX asset_by_host ON asset (team_id, host, no DESC);
CREATE INDEX asset_by_title ON asset (team_id, title, no DESC);
CREATE INDEX asset_by_length ON asset (team_id, content_length, no DESC);
CREATE INDEX asset_by_ip ON asset (team_id, ip_order, no DESC);
-- Few assets are missing or misconfigured.
CREATE INDEX asset_missing ON asset (team_id, no) WHERE is_missing;
CREATE INDEX asset_misconfigured ON asset (team_id, no) WHERE misconfiguration <> '';

-- +goose Down
DROP INDEX asset_misconfigured;
DROP INDEX asset_missing;
DROP INDEX asset_by_ip;
DROP INDEX asset_by_length;
DROP INDEX asset_by_title;
DROP INDEX asset_by_host;
DROP INDEX asset_by_seen;
DROP INDEX asset_by_since;
DROP INDEX asset_by_created;
DROP INDEX asset_past_ip;
ALTER TABLE asset_past DROP COLUMN ip_order;
ALTER TABLE asset DROP COLUMN ip_order;
CREATE INDEX asset_rev ON asset (team_id, rev);
CREATE TABLE asset_gone (
	team_id        TEXT NOT NULL,
	rev            BIGINT NOT NULL,
	no             BIGINT NOT NULL,
	enumeration_id TEXT NOT NULL,
	at             BIGINT NOT NULL,
	PRIMARY KEY (team_id, rev, no, enumeration_id)
);
DROP TABLE asset_deleted;
DELETE FROM list_backfill WHERE name = 'asset';
$NOLIST(asset)
