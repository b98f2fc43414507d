-- +goose Up
-- What all lists share: see package list.
$LISTS

-- +goose Down
DROP TABLE list_backfill;
DROP TABLE list_team;
