<?php
require 'lesson.php';
show('Lessons', hello() . '<p>Level: ' . level() . '</p>' . links(['/number.php' => 'A number', '/blind.php' => 'Is it there?',
    '/choice.php' => 'A choice', '/ping.php' => 'Reach a host', '/include.php?file=one.html' => 'Read', '/upload.php' => 'Send a file',
    '/greet.php' => 'A greeting', '/wall.php' => 'The wall', '/language.php?default=English' => 'Language', '/change.php' => 'Password',
    '/leave.php?to=/index.php' => 'Leave', '/level.php' => 'Level']));
