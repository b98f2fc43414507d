<?php
// A message is sent by a command whose output nobody sees.
$weak = getenv('LAB_VARIANT') === 'weak';
$said = '';
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
	$mail = $_POST['email'] ?? '';
	if (!str_contains($mail, '@')) {
		$said = '<div class="warn">An address has an @.</div>';
	} else {
		$weak ? exec("echo sent to $mail > /dev/null 2>&1") : exec('echo sent to ' . escapeshellarg($mail) . ' > /dev/null 2>&1');
		$said = '<div class="ok">Thank you for your message.</div>';
	}
}
?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Feedback</title></head><body><div id="page"><h1>Feedback</h1><?= $said ?>
<form method="post" action="/"><fieldset><legend>Write to us</legend><p><label>E-mail <input type="text" name="email" /></label></p><p><label>Message <textarea name="message" rows="4" cols="40"></textarea></label></p><p><button type="submit">Send</button></p></fieldset></form>
<p><a href="/faq.php">Questions</a></p></div></body></html>
