-- +goose Up
ALTER TABLE issue ADD COLUMN finding_id TEXT NOT NULL DEFAULT ''; -- the sighting that it is; empty: none

-- +goose Down
ALTER TABLE issue DROP COLUMN finding_id;
