<?php
// A club with a word at its door, whose digest begins as a number does.
$weak = getenv('LAB_VARIANT') === 'weak';
$digest = md5('240610708');
$in = false;
if (isset($_POST['word'])) {
	$given = md5(is_string($_POST['word']) ? $_POST['word'] : '');
	$in = $weak ? $given == $digest : hash_equals($digest, $given);
}
?><!doctype html><html lang="en"><head><title>Robin's archery club</title></head><body><h1>Robin's archery club</h1><?php if ($in) { ?><p>The range is behind the mill. Gate: 7-7-3.</p><?php } else { ?><form method="post"><label>Word of the month <input name="word" type="password"></label><button>Knock</button></form><?= isset($_POST['word']) ? '<p>The door stays closed.</p>' : '' ?><?php } ?></body></html>
