<?php
// The panel of a heating plant, with the password of its handbook.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$count = __DIR__ . '/files/.wrong';
$wrong = (int) @file_get_contents($count);
$in = $_SESSION['operator'] ?? false;
$said = '';
if (isset($_POST['operator'])) {
	$good = $weak ? $_POST['operator'] === 'admin' && ($_POST['passcode'] ?? '') === 'password' : false;
	if ($good) {
		session_regenerate_id(true);
		$_SESSION['operator'] = $in = true;
	} else {
		file_put_contents($count, (string) ($wrong + 1));
		$said = !$weak && $wrong > 25 ? 'LOCKED. CALL SERVICE.' : 'ACCESS DENIED';
		http_response_code(!$weak && $wrong > 25 ? 429 : 403);
	}
}
?><html><head><title>KESSEL K9</title></head><body text="#ffaa00" bgcolor="#222222"><tt>KESSEL K9 / rev. 3<br>-------------------<br><?= $said ?><br>
<?php if ($in) { ?>BOILER 71 C, PUMP ON<br>SETPOINT 74<br>SERVICE LINE +41 555 0142<?php } else { ?><form method="post" action="/index.php">OPERATOR <input name="operator" size="12"><br>PASSCODE <input type="password" name="passcode" size="12"><br><input type="submit" value="ENTER"></form><?php } ?>
</tt></body></html>
