-- +goose Up
-- To find pictures that no asset uses.
CREATE INDEX asset_picture ON asset (screenshot) WHERE screenshot <> '';
CREATE INDEX asset_past_picture ON asset_past (screenshot) WHERE screenshot <> '';

-- +goose Down
DROP INDEX asset_past_picture;
DROP INDEX asset_picture;
