<?php
// A front controller that adds the ending itself: what is included is a program, unless a filter of PHP hands it out.
require 'lab.php';
$m = text($_GET, 'm', 'start');
if (variant('sound') && !preg_match('/^[a-z]+$/D', $m)) $m = 'start';
top('Library');
echo links(['/index.php?m=start' => 'Start', '/index.php?m=hours' => 'Hours']);
if (!@include $m . '.php') echo '<p>There is no such module.</p>';
bottom();
