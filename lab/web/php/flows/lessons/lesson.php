<?php
// A site to train on, behind a login: each lesson is a page with a form. A cookie has the level: "low" checks nothing,
// "medium" has a filter that does not hold, "high" is as it should be. "sound" is always high, whatever the cookie says.
require_once 'lab.php';
function level() {
    if (variant('sound')) return 'high';
    $l = text($_COOKIE, 'level');
    return in_array($l, ['low', 'medium', 'high'], true) ? $l : getenv('LAB_VARIANT');
}
$me = need();
