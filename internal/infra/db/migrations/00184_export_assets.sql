-- +goose Up
-- Whether an export has findings or assets; its filter selects them.
ALTER TABLE export ADD COLUMN about TEXT NOT NULL DEFAULT 'findings';
ALTER TABLE export ADD COLUMN enumeration_id TEXT NOT NULL DEFAULT ''; -- of assets; empty: of all enumerations

-- +goose Down
ALTER TABLE export DROP COLUMN enumeration_id;
ALTER TABLE export DROP COLUMN about;
