<?php
require 'host.php';
show('Invite', '<p>Send your friends this: <input readonly value="http://' . h(host()) . '/join.php?from=portal"></p>');
